import type { Migration } from '@leadwire/service-kit'

/**
 * Whether a delivery sends the body with attributes, so that a change of its endpoint changes no retry. NULL, of the release before:
 * what the endpoint includes when an attempt starts.
 */
export const storedBodies: Migration = {
  name: '009-stored-bodies',
  transaction: false,
  up: async (knex) => {
    // The statements that claim and store deliveries name the column in both schemas.
    for (const schema of ['public', 'notifications'])
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE ${schema}.deliveries ADD COLUMN IF NOT EXISTS with_attributes boolean`)
      })
  },
}
