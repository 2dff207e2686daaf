import type { Migration } from '@leadwire/service-kit'

/** Finds the endpoints that pruning removes. */
export const deletedEndpoints: Migration = {
  name: '010-deleted-endpoints',
  up: async (knex) => {
    for (const schema of ['public', 'notifications'])
      await knex.raw(
        `CREATE INDEX endpoints_deleted ON ${schema}.endpoints (deleted_at) WHERE deleted_at IS NOT NULL`,
      )
  },
}
