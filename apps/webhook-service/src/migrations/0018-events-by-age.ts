import type { Migration } from '@leadwire/service-kit'

const INDEX = 'events_by_age'

/** Old events are found. */
export const eventsByAge: Migration = {
  name: '018-events-by-age',
  transaction: false,
  up: async (knex) => {
    for (const schema of ['public', 'notifications']) {
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${INDEX}`)
      await knex.raw(
        `CREATE INDEX CONCURRENTLY ${INDEX} ON ${schema}.events ((coalesce(kept_at, created_at)))`,
      )
    }
  },
}
