import type { Migration } from '@leadwire/service-kit'

const COLUMNS = {
  endpoints: "include text[] NOT NULL DEFAULT '{}'",
  // Of an event whose lead has attributes: the body with them.
  events: 'body_with_attributes bytea',
}

/** The optional parts of bodies that an endpoint asks for. */
export const attributes: Migration = {
  name: '007-attributes',
  transaction: false,
  up: async (knex) => {
    for (const schema of ['public', 'notifications'])
      for (const [table, column] of Object.entries(COLUMNS))
        await knex.transaction(async (tx) => {
          await tx.raw("SET LOCAL lock_timeout = '500ms'")
          await tx.raw(`ALTER TABLE ${schema}.${table} ADD COLUMN IF NOT EXISTS ${column}`)
        })
  },
}
