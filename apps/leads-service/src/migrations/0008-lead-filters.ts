import type { Migration } from '@leadwire/service-kit'

// Each begins with what its filter names and ends with what the list is sorted by, so that a page is a range of it, without a
// sort. An index that a try before left unfinished is made anew.
const INDEXES = {
  leads_by_status: '(account_id, status, number)',
  leads_by_referrer: '(account_id, referrer, number)',
  // Postcodes are looked for by how they begin, whatever the collation of the database.
  leads_by_postcode: '(account_id, postcode COLLATE "C", number)',
  leads_by_updated_at: '(account_id, updated_at, number)',
  leads_by_user: '(account_id, user_id, number) WHERE user_id IS NOT NULL',
  leads_by_test: `(account_id, number) WHERE test OR status = 'test'`,
}

// Each entry costs a create some 5 us of PostgreSQL's time and 100 bytes of WAL. So only test leads and assigned ones
// have entries of their own, and created_at has none: numbers rise with it.

/** Each filter of the list of leads has an index. */
export const leadFilters: Migration = {
  name: '0008-lead-filters',
  transaction: false,
  up: async (knex) => {
    for (const [name, columns] of Object.entries(INDEXES)) {
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
      await knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON leads ${columns}`)
    }
  },
}
