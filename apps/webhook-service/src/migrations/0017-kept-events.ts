import type { Migration } from '@leadwire/service-kit'

// kept_at: since when an event counts as kept, where that is not its creation. Rows go from one end of the index, which is quick to
// search again when they are vacuumed.
const add = (schema: string) => `
  ALTER TABLE ${schema}.events ADD COLUMN kept_at timestamptz, SET (autovacuum_vacuum_scale_factor = 0.02);`

/** Old events are removed with their deliveries, and old idempotency keys often. */
export const keptEvents: Migration = {
  name: '017-kept-events',
  up: async (knex) =>
    void (await knex.raw(`
      ${add('public')}
      ${add('notifications')}
      ALTER TABLE public.idempotency_keys SET (autovacuum_vacuum_scale_factor = 0.02);`)),
}
