import type { Migration } from '@leadwire/service-kit'

// NULL: nobody is told of the lead's creation, or a release before wrote it. Adding it changes the catalogue alone.
const EVENT = 'ALTER TABLE leads ADD COLUMN event_id uuid;'

// Up to which number an account's leads are explained, or kept as unexplained. Without foreign keys, so that making it locks nothing.
const PROGRESS = `
  CREATE TABLE reconciled_leads (
    account_id bigint PRIMARY KEY,
    number bigint NOT NULL
  );`

// key: the kind and what it is about. checked_at: when it was last found so.
const UNEXPLAINED = `
  CREATE TABLE unexplained (
    key text PRIMARY KEY,
    kind text NOT NULL,
    account_id bigint NOT NULL,
    lead_number bigint,
    lead_reference uuid,
    event_id uuid,
    delivery_id bigint,
    since timestamptz NOT NULL,
    detail text NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX unexplained_of_account ON unexplained (account_id, since);
  CREATE INDEX unexplained_since ON unexplained (since);
  CREATE INDEX unexplained_to_check ON unexplained (checked_at);`

// One row. look_at: when a copy begins a check; while one is at it, until when the others leave it alone.
const LAST = `
  CREATE TABLE reconciliation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    look_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz
  );
  INSERT INTO reconciliation DEFAULT VALUES;`

/** A lead knows its event, and it is kept how far leads were reconciled with their events and deliveries. */
export const reconciliation: Migration = {
  name: '0018-reconciliation',
  up: async (knex) => void (await knex.raw(EVENT + PROGRESS + UNEXPLAINED + LAST)),
}
