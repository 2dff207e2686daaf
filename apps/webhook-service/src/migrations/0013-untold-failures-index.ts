import type { Migration } from '@leadwire/service-kit'

const INDEX = 'endpoint_failures_untold'

/** Untold failures are found without those that were told: an endpoint may fail for years. */
export const untoldFailuresIndex: Migration = {
  name: '013-untold-failures-index',
  transaction: false,
  up: async (knex) => {
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${INDEX}`)
    await knex.raw(
      `CREATE INDEX CONCURRENTLY ${INDEX} ON endpoint_failures (endpoint_id) WHERE told_at IS NULL`,
    )
  },
}
