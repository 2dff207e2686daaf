import type { Migration } from '@leadwire/service-kit'

/** Replaced secrets are found when they end. */
export const endingSecrets: Migration = {
  name: '005-ending-secrets',
  transaction: false,
  up: async (knex) => {
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS endpoints_ending_secrets')
    await knex.raw(`CREATE INDEX CONCURRENTLY endpoints_ending_secrets ON endpoints (secrets_end_at)
      WHERE secrets_end_at IS NOT NULL`)
  },
}
