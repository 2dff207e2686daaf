import type { Migration } from '@leadwire/service-kit'

const BRIEFLY = `SET LOCAL lock_timeout = '500ms';`

// The lead times of an account: how many minutes before the date of an entry its event is due.
const ADD_LEAD_TIMES = `${BRIEFLY}
  ALTER TABLE accounts
    ADD COLUMN IF NOT EXISTS appointment_due_minutes integer NOT NULL DEFAULT 60,
    ADD COLUMN IF NOT EXISTS callback_due_minutes integer NOT NULL DEFAULT 0`

/**
 * Adds two columns. `remind`: whether the assigned user gets an e-mail when the entry is due. `due_date`: the
 * date for which the event was recorded, so that the event is not recorded again for the same date.
 */
const addColumns = (table: string): string => `${BRIEFLY}
  ALTER TABLE ${table}
    ADD COLUMN IF NOT EXISTS remind boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS due_date timestamptz`

// The rows are deleted with their leads, so that a release that does not know this table can delete an
// account. Rows are often added at one end of the index by time and deleted at the other. Frequent vacuums
// remove the dead entries, which would slow down the search for the next rows.
const CREATE_TABLE = `${BRIEFLY}
  -- Open appointments and callbacks whose event (appointment.due or callback.due) is still to be recorded.
  CREATE TABLE IF NOT EXISTS due_events (
    account_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('appointment', 'callback')),
    entry_id bigint NOT NULL,
    lead_id bigint NOT NULL,
    -- The date of the entry when the row was written. If the entry has another date, an older release has
    -- moved the entry.
    date timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, kind, entry_id),
    FOREIGN KEY (account_id, lead_id) REFERENCES leads ON DELETE CASCADE
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX IF NOT EXISTS due_events_by_due_at ON due_events (due_at);
  CREATE INDEX IF NOT EXISTS due_events_of_account ON due_events (account_id, due_at);
  CREATE INDEX IF NOT EXISTS due_events_of_lead ON due_events (account_id, lead_id)`

/** Adds the events of appointments and callbacks that become due, and their lead times. */
export const dueEvents: Migration = {
  name: '0008-due-events',
  transaction: false,
  up: async (knex) => {
    // Each transaction locks one table that is in use: the last one locks leads for the foreign key.
    for (const statements of [
      ADD_LEAD_TIMES,
      addColumns('appointments'),
      addColumns('callbacks'),
      CREATE_TABLE,
    ])
      await knex.transaction(async (tx) => void (await tx.raw(statements)))
  },
}
