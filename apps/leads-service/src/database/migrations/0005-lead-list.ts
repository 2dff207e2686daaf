import type { Migration } from '@leadwire/service-kit'

/**
 * The list of unassigned leads is a range of this index. The column that is 0 for all of its leads makes
 * PostgreSQL use this index: without the column, the index of all leads by number has the same order.
 */
export const leadList: Migration = {
  name: '0005-lead-list',
  transaction: false,
  up: async (knex) => {
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS leads_unassigned')
    await knex.raw(`CREATE INDEX CONCURRENTLY leads_unassigned
      ON leads (account_id, (coalesce(user_id, 0)), number) WHERE user_id IS NULL`)
  },
}
