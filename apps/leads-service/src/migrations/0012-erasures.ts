import { apart, type Migration } from '@leadwire/service-kit'

// An erased lead has the empty postcode. The new constraint is checked for rows of before by the next migration.
// Where a lead's data is, is known from now on: of which lead an event or a saved response tells, and where the event is in the
// stream. A change of a lead that names no action is an update.
const COLUMNS = [
  `ALTER TABLE leads ADD COLUMN IF NOT EXISTS erased_at timestamptz,
    DROP CONSTRAINT IF EXISTS leads_postcode_or_none,
    ADD CONSTRAINT leads_postcode_or_none CHECK (
      postcode = '' OR postcode ~ '^(GIR 0AA|[A-Z]{1,2}[0-9][A-Z0-9]\\? [0-9][A-Z]{2})$') NOT VALID,
    DROP CONSTRAINT IF EXISTS leads_postcode_check`,
  'ALTER TABLE lead_changes ADD COLUMN IF NOT EXISTS action text',
  `ALTER TABLE outbox ADD COLUMN IF NOT EXISTS lead_reference uuid, ADD COLUMN IF NOT EXISTS sequence bigint`,
  'ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS lead_reference uuid',
]

// A row is the receipt of an erasure, and what is left to do. places: [{store, what, count, erased_at}], with null until it is
// done. events: [{id, sequence}] of those that the outbox still had. look_at: when a process takes it up; while one works on it,
// until when the others leave it alone.
const TABLE = [
  `CREATE TABLE IF NOT EXISTS erasures (
    account_id bigint NOT NULL,
    lead_id bigint NOT NULL,
    requested_at timestamptz NOT NULL,
    finished_at timestamptz,
    places json NOT NULL,
    events json NOT NULL,
    stream_until timestamptz,
    look_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, lead_id),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads
  )`,
  'CREATE INDEX IF NOT EXISTS erasures_open ON erasures (look_at) WHERE finished_at IS NULL',
]

/** Leads can be erased. */
export const erasures: Migration = {
  name: '0012-erasures',
  transaction: false,
  up: (knex) => apart(knex, [...COLUMNS, ...TABLE]),
}
