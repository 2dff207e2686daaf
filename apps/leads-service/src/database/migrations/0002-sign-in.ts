import type { Migration } from '@leadwire/service-kit'

const STATEMENTS = `
  -- NULL: the user may not sign in.
  ALTER TABLE users ADD role text;
  ALTER TABLE users ADD CONSTRAINT users_role_is_known CHECK (role IN ('admin', 'sales', 'support', 'viewer'));
  -- People sign in by e-mail address alone, so this index has the users of all accounts.
  CREATE INDEX users_by_sign_in ON users (lower(email)) WHERE removed_at IS NULL AND role IS NOT NULL;
  CREATE INDEX users_admins ON users (account_id) WHERE removed_at IS NULL AND role = 'admin';

  -- Sessions and sign-in links are tokens of a user. A link that works in only one browser has the SHA-256 of
  -- the secret of this browser until it is opened.
  ALTER TABLE tokens ADD user_id bigint, ADD browser_hash bytea, ADD created_by_user_id bigint;
  ALTER TABLE tokens ADD CONSTRAINT tokens_user_fkey FOREIGN KEY (account_id, user_id) REFERENCES users;
  CREATE INDEX tokens_of_user ON tokens (account_id, user_id, id) WHERE user_id IS NOT NULL;
  CREATE INDEX tokens_of_users_by_expiry ON tokens (expires_at) WHERE user_id IS NOT NULL;

  -- The user who made a change. The token_id beside it is then the session, which is deleted some days later.
  ALTER TABLE audit ADD user_id bigint;
  ALTER TABLE lead_changes ADD user_id bigint;
  ALTER TABLE leads ADD created_by_user_id bigint;
  ALTER TABLE imports ADD user_id bigint;`

export const signIn: Migration = {
  name: '0002-sign-in',
  up: async (knex) => void (await knex.raw(STATEMENTS)),
}
