import type { Migration } from '@leadwire/service-kit'

// NULL: of an event of before, of a copy of the release before, or of one that was stored beside the stream.
const add = (schema: string) => `ALTER TABLE ${schema}.events ADD COLUMN fan_out integer;`

/** An event says how many deliveries it was stored with. */
export const fanOut: Migration = {
  name: '020-fan-out',
  up: async (knex) => void (await knex.raw(add('public') + add('notifications'))),
}
