import { AUDIT_TABLE, type Migration } from '@leadwire/service-kit'

/** Who changed accounts, users, tokens and images. Leads have a history of their own. */
export const audit: Migration = {
  name: '0007-audit',
  up: async (knex) => void (await knex.raw(AUDIT_TABLE)),
}
