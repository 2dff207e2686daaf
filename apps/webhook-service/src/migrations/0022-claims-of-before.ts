import type { Migration } from '@leadwire/service-kit'

/** Claims that 0.2.0 made before they were shared get an end, too (see 021-shared-claims). */
export const claimsOfBefore: Migration = {
  name: '022-claims-of-before',
  transaction: false,
  up: async (knex) => {
    const { rows } = await knex.raw(`SELECT to_regclass('public.workers') IS NOT NULL AS "isOf020"`)
    if (rows[0].isOf020)
      await knex.raw(
        'UPDATE deliveries SET claimed_by = claimed_by WHERE claimed_by IS NOT NULL AND claimed_until IS NULL',
      )
  },
}
