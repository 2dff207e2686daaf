import type { Migration } from '@leadwire/service-kit'

const INDEXES = ['customers_by_email', 'customers_by_phone', 'customers_by_mobile', 'leads_of_customer']

/** Persons are found by the words of search: creates pay for no index of customers. */
export const personsByWords: Migration = {
  name: '0022-persons-by-words',
  transaction: false,
  up: async (knex) => {
    for (const name of INDEXES) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
  },
}
