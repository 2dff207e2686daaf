import { AUDIT_TABLE, type Migration } from '@leadwire/service-kit'

/** Who changed endpoints, and asked for attempts: one log for webhooks and notifications. */
export const audit: Migration = {
  name: '003-audit',
  up: async (knex) => void (await knex.raw(AUDIT_TABLE)),
}
