import type { Migration } from '@leadwire/service-kit'

/** Publishable tokens: they have origins, and count the leads of a day. */
export const capture: Migration = {
  name: '0008-capture',
  transaction: false,
  up: async (knex) => {
    await knex.transaction(async (tx) => {
      await tx.raw("SET LOCAL lock_timeout = '500ms'")
      await tx.raw(`ALTER TABLE tokens
        ADD COLUMN IF NOT EXISTS origins text[] NOT NULL DEFAULT '{}',
        ADD COLUMN IF NOT EXISTS return_url text,
        ADD COLUMN IF NOT EXISTS honeypot text,
        ADD COLUMN IF NOT EXISTS captured_on date,
        ADD COLUMN IF NOT EXISTS captured integer NOT NULL DEFAULT 0`)
    })
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS tokens_by_origin')
    await knex.raw(
      "CREATE INDEX CONCURRENTLY tokens_by_origin ON tokens USING gin (origins) WHERE origins <> '{}' AND revoked_at IS NULL",
    )
  },
}
