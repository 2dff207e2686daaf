import type { Migration } from '@leadwire/service-kit'

const UNUSED = ['deliveries_of_endpoint', 'deliveries_unfinished']

/**
 * Nothing needs these any more. Copies of the release before find the same rows by other indexes, only slower: how their endpoints
 * are doing, of accounts with many deliveries.
 */
export const fewerIndexes: Migration = {
  name: '016-fewer-indexes',
  transaction: false,
  up: async (knex) => {
    for (const schema of ['public', 'notifications'])
      for (const index of UNUSED) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${index}`)
  },
}
