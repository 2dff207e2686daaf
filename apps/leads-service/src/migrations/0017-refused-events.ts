import type { Migration } from '@leadwire/service-kit'

// published_at of such an event is 'infinity': neither relay nor sweep, of this release or the one before, find it.
const ADD = 'ALTER TABLE outbox ADD COLUMN refusal text'

/** An event that webhook-service refused says why. */
export const refusedEvents: Migration = {
  name: '0017-refused-events',
  up: async (knex) => void (await knex.raw(ADD)),
}
