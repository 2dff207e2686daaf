import type { Migration } from '@leadwire/service-kit'

const SCHEMAS = ['public', 'notifications']

/**
 * The deliveries of an endpoint by status: lists and counts are ranges of this index, and an account's are those of its endpoints
 * merged. It stands in the place of two others, so that each delivery is written into fewer.
 */
export const deliveriesByStatus: Migration = {
  name: '015-deliveries-by-status',
  transaction: false,
  up: async (knex) => {
    for (const schema of SCHEMAS) {
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.deliveries_by_status`)
      await knex.raw(
        `CREATE INDEX CONCURRENTLY deliveries_by_status ON ${schema}.deliveries (endpoint_id, status, id)`,
      )
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.endpoints_ever_of_account`)
      await knex.raw(
        `CREATE INDEX CONCURRENTLY endpoints_ever_of_account ON ${schema}.endpoints (account_id, id)`,
      )
    }
  },
}
