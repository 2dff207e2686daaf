import type { Migration } from '@leadwire/service-kit'

// A lead's creation is told by its own row: a row more for each create would cost every create. Leads of before have null.
// Tokens stay when they are revoked, and are no foreign keys here: each create would lock its token's row.
const COLUMNS = `
  ALTER TABLE leads ADD COLUMN created_by_token_id bigint, ADD COLUMN created_by_request_id text;`

// A row is written by the transaction that makes `version` of its lead. `changes` is JSON as it is shown: what it was and
// what it is, with the e-mail that a user had then.
const TABLE = `
  CREATE TABLE lead_changes (
    account_id bigint NOT NULL,
    lead_id bigint NOT NULL,
    version integer NOT NULL CHECK (version > 1),
    token_id bigint,
    request_id text,
    changes json NOT NULL CHECK (json_typeof(changes) = 'array'),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, lead_id, version),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads
  );`

/** Who created and changed a lead, when and how. */
export const leadHistory: Migration = {
  name: '0006-lead-history',
  up: async (knex) => void (await knex.raw(COLUMNS + TABLE)),
}
