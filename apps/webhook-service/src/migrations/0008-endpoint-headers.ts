import type { Migration } from '@leadwire/service-kit'

// The values are among the encrypted secrets.
const ADD = `ALTER TABLE endpoints ADD COLUMN header_names text[] NOT NULL DEFAULT '{}'`

/** An endpoint has headers of its own. */
export const endpointHeaders: Migration = {
  name: '008-endpoint-headers',
  up: async (knex) => void (await knex.raw(ADD)),
}
