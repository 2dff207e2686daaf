import type { Migration } from '@leadwire/service-kit'

/** An account's events are read in the order of their numbers. */
export const eventsByNumber: Migration = {
  name: '024-events-by-number',
  transaction: false,
  up: async (knex) => {
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS events_by_number')
    await knex.raw(
      'CREATE UNIQUE INDEX CONCURRENTLY events_by_number ON events (account_id, number) WHERE number IS NOT NULL',
    )
  },
}
