import type { Migration } from '@leadwire/service-kit'

const STATEMENTS = `
  -- The encrypted links of notifications with which users sign in. A link is deleted when its delivery has
  -- ended. events.body does not contain the link, because an event is kept for weeks after its delivery. Has no
  -- foreign key, because the row is written before the event.
  CREATE TABLE notifications.sign_in_links (
    event_id uuid PRIMARY KEY,
    sealed_link bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );

  -- The user who was signed in. NULL if a token made the change, or nobody was signed in.
  ALTER TABLE public.audit ADD COLUMN user_id bigint;`

/** Adds the links of sign-in e-mails, and the users in the audit log. */
export const signIn: Migration = {
  name: '0002-sign-in',
  up: async (knex) => void (await knex.raw(STATEMENTS)),
}
