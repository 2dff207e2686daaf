import type { Migration } from '@leadwire/service-kit'

// sequence: of the message that was refused last.
const add = (schema: string) => `
  CREATE TABLE ${schema}.refused_events (
    event_id uuid PRIMARY KEY,
    sequence bigint NOT NULL,
    reason text NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX refused_events_by_age ON ${schema}.refused_events (refused_at);`

/** Which events were refused, for the outbox, which then stops publishing them. */
export const refusedEvents: Migration = {
  name: '019-refused-events',
  up: async (knex) => void (await knex.raw(add('public') + add('notifications'))),
}
