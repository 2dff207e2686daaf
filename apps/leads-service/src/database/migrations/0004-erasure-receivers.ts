import type { Migration } from '@leadwire/service-kit'

/**
 * The event of an erasure and its deliveries: JSON, NULL until the event is stored. `confirm_at`: when they are asked for next; NULL
 * when none is open any more.
 */
export const erasureReceivers: Migration = {
  name: '0004-erasure-receivers',
  transaction: false,
  up: async (knex) => {
    await knex.transaction(async (tx) => {
      await tx.raw("SET LOCAL lock_timeout = '500ms'")
      await tx.raw(`
        ALTER TABLE erasures ADD COLUMN IF NOT EXISTS event_id uuid, ADD COLUMN IF NOT EXISTS receivers json,
          ADD COLUMN IF NOT EXISTS confirm_at timestamptz`)
    })
    await knex.raw('DROP INDEX IF EXISTS erasures_to_confirm')
    await knex.raw(
      'CREATE INDEX CONCURRENTLY erasures_to_confirm ON erasures (confirm_at) WHERE confirm_at IS NOT NULL',
    )
  },
}
