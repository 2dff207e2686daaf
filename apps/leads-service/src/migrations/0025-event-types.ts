import type { Migration } from '@leadwire/service-kit'

/** An event in the outbox has its type, one of many, and no list of them has to be changed here. */
export const eventTypes: Migration = {
  name: '0025-event-types',
  up: async (knex) => {
    await knex.raw('ALTER TABLE outbox DROP CONSTRAINT IF EXISTS outbox_kind_check')
    await knex.raw('ALTER TABLE outbox RENAME COLUMN kind TO type')
  },
}
