import type { Migration } from '@leadwire/service-kit'

const ADD = 'ALTER TABLE users ADD COLUMN IF NOT EXISTS removed_at timestamptz'

/** Users can be removed. */
export const removedUsers: Migration = {
  name: '0003-removed-users',
  up: async (knex) => void (await knex.raw(ADD)),
}
