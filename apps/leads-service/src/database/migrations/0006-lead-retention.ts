import type { Migration } from '@leadwire/service-kit'

const STATEMENTS = `
  -- The rule of an account by which old leads are erased. No row: leads are kept.
  CREATE TABLE lead_retention (
    account_id bigint PRIMARY KEY REFERENCES accounts,
    statuses text[] NOT NULL CHECK (cardinality(statuses) > 0),
    months integer NOT NULL CHECK (months BETWEEN 1 AND 240),
    -- When a process may start the next round.
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How far this pass has come: the updated_at and the number of the last lead that it has read. NULL at the
    -- start of a pass.
    read_until timestamptz,
    read_number bigint
  );
  CREATE INDEX lead_retention_by_due_at ON lead_retention (due_at);`

export const leadRetention: Migration = {
  name: '0006-lead-retention',
  up: async (knex) => void (await knex.raw(STATEMENTS)),
}
