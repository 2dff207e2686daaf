import type { Migration } from '@leadwire/service-kit'

// Of an endpoint that the suspension of its account disabled, and that is enabled when the account is resumed.
const add = (schema: string) => `
  ALTER TABLE ${schema}.endpoints ADD COLUMN held_with_account boolean NOT NULL DEFAULT false;`

/** The deliveries of an account can be held. */
export const heldAccounts: Migration = {
  name: '011-held-accounts',
  up: async (knex) => void (await knex.raw(add('public') + add('notifications'))),
}
