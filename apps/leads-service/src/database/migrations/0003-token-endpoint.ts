import type { Migration } from '@leadwire/service-kit'

/** Tokens of one webhook endpoint. Those with the scope webhooks are stored without it: see `shownToken`. */
export const tokenEndpoint: Migration = {
  name: '0003-token-endpoint',
  transaction: false,
  up: async (knex) => {
    await knex.transaction(async (tx) => {
      await tx.raw("SET LOCAL lock_timeout = '500ms'")
      await tx.raw(`ALTER TABLE tokens ADD COLUMN IF NOT EXISTS endpoint_id bigint,
        DROP CONSTRAINT IF EXISTS tokens_scopes_check,
        ADD CONSTRAINT tokens_scopes_check
          CHECK (cardinality(scopes) > 0 OR endpoint_id IS NOT NULL) NOT VALID`)
    })
    await knex.raw('ALTER TABLE tokens VALIDATE CONSTRAINT tokens_scopes_check')
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS tokens_of_endpoints_by_expiry')
    await knex.raw(
      'CREATE INDEX CONCURRENTLY tokens_of_endpoints_by_expiry ON tokens (expires_at) WHERE endpoint_id IS NOT NULL',
    )
  },
}
