import type { Migration } from '@leadwire/service-kit'

const ADD = 'ALTER TABLE accounts ADD COLUMN contact_email text'

/** An account has somebody who is told when something of it needs care. */
export const contact: Migration = {
  name: '0015-contact',
  up: async (knex) => void (await knex.raw(ADD)),
}
