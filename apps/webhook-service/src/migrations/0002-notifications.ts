import type { Migration } from '@leadwire/service-kit'
import { SCHEMA } from './0001-first-schema'

/** Notifications are delivered as webhooks are, out of the same tables in a schema of their own. */
export const notifications: Migration = {
  name: '002-notifications',
  up: async (knex) =>
    void (await knex.raw(`
      CREATE SCHEMA notifications;
      SET LOCAL search_path TO notifications;
      ${SCHEMA}
      SET LOCAL search_path TO DEFAULT;`)),
}
