import type { Migration } from '@leadwire/service-kit'

/** Idempotency keys go from one end of an index, which is quick to search again when they are vacuumed. */
export const oldKeys: Migration = {
  name: '0016-old-keys',
  up: async (knex) =>
    void (await knex.raw('ALTER TABLE idempotency_keys SET (autovacuum_vacuum_scale_factor = 0.02)')),
}
