import type { Migration } from '@leadwire/service-kit'

// A delivery is only ever written by the statement that writes its event and holds its endpoint's row, and none of the three
// is ever removed. Looking both up again, with a lock and a statement of its own for each, was a fifth of what storing an
// event costs PostgreSQL.
export const trustTheFanOut: Migration = {
  name: '005-trust-the-fan-out',
  up: async (knex) =>
    void (await knex.raw(`
      ALTER TABLE deliveries DROP CONSTRAINT deliveries_event_id_fkey, DROP CONSTRAINT deliveries_endpoint_id_fkey`)),
}
