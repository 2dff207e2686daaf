import type { Migration } from '@leadwire/service-kit'

/**
 * Adds the time at which an appointment or a callback was done. No constraint excludes that an entry is both
 * done and cancelled, because the previous release can cancel a done entry.
 */
const addColumn = (table: string): string => `
  SET LOCAL lock_timeout = '500ms';
  ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS done_at timestamptz`

const IS_OPEN = 'cancelled_at IS NULL AND done_at IS NULL'
const IS_DONE = 'cancelled_at IS NULL AND done_at IS NOT NULL'

/**
 * Statements read entries by date, for all users or for one user, and for entries that are open, done or in
 * any state. Each of these reads has its own index. Otherwise, a read would pass over all entries in other
 * states. An index with more conditions comes after one with fewer: if several indexes cost the same, as in
 * an empty table, PostgreSQL chooses the newest.
 */
const INDEXES = [
  { name: 'by_date', definition: '(account_id, date, id)' },
  { name: 'open_by_date', definition: `(account_id, date, id) WHERE ${IS_OPEN}` },
  { name: 'done_by_date', definition: `(account_id, date, id) WHERE ${IS_DONE}` },
  { name: 'of_user_by_date', definition: '(account_id, user_id, date, id)' },
  { name: 'open_of_user_by_date', definition: `(account_id, user_id, date, id) WHERE ${IS_OPEN}` },
  { name: 'done_of_user_by_date', definition: `(account_id, user_id, date, id) WHERE ${IS_DONE}` },
  { name: 'open_of_lead', definition: `(account_id, lead_id, date) WHERE ${IS_OPEN}` },
]

export const schedule: Migration = {
  name: '0003-schedule',
  transaction: false,
  up: async (knex) => {
    for (const table of ['appointments', 'callbacks']) {
      await knex.transaction(async (tx) => void (await tx.raw(addColumn(table))))
      for (const { name, definition } of INDEXES) {
        await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${table}_${name}`)
        await knex.raw(`CREATE INDEX CONCURRENTLY ${table}_${name} ON ${table} ${definition}`)
      }
    }
  },
}
