import type { Migration } from '@leadwire/service-kit'

// The row of a deletion outlives its account: it is all that tells of it. `leads` is how many there were.
const UP = `
  ALTER TABLE accounts ADD COLUMN suspended_at timestamptz;
  CREATE TABLE account_deletions (
    account_id bigint PRIMARY KEY,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    leads bigint NOT NULL,
    removed_leads bigint NOT NULL DEFAULT 0,
    look_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );`

/** Accounts can be suspended and deleted. */
export const accountDeletions: Migration = {
  name: '0014-account-deletions',
  up: async (knex) => void (await knex.raw(UP)),
}
