import type { Migration } from '@leadwire/service-kit'

// duplicate_of_id has no foreign key: it would be checked under a lock of another lead. status_before_duplicate: what a lead gets
// back when it is no duplicate any more. suspected: up to which number the duplicates of an account's leads were reported.
const COLUMNS = {
  leads:
    'ADD COLUMN IF NOT EXISTS duplicate_of_id bigint, ADD COLUMN IF NOT EXISTS status_before_duplicate text',
  lead_search_progress: 'ADD COLUMN IF NOT EXISTS suspected bigint',
}

/** Leads of one person. */
export const duplicates: Migration = {
  name: '0007-duplicates',
  transaction: false,
  up: async (knex) => {
    for (const [table, columns] of Object.entries(COLUMNS))
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE ${table} ${columns}`)
      })
  },
}
