import type { Migration } from '@leadwire/service-kit'

/** An event in the outbox knows its trace. Adding the column changes the catalogue alone. */
export const tracesOfEvents: Migration = {
  name: '0020-traces-of-events',
  up: async (knex) => void (await knex.raw('ALTER TABLE outbox ADD COLUMN traceparent text')),
}
