import type { Migration } from '@leadwire/service-kit'

// sequence: where the event is in the stream LEADS; of events of before nobody knows it.
const add = (schema: string) => `
  ALTER TABLE ${schema}.events ADD COLUMN sequence bigint, ADD COLUMN erased_at timestamptz;`

/** Events can be erased, here and in the stream. */
export const erasedEvents: Migration = {
  name: '010-erased-events',
  up: async (knex) => void (await knex.raw(add('public') + add('notifications'))),
}
