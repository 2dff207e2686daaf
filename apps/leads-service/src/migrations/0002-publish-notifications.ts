import type { Migration } from '@leadwire/service-kit'

/**
 * Notifications are published like leads. What was recorded of them before nobody sends: it is removed. The outbox holds
 * minutes of events, so its indexes are made anew in a moment.
 */
export const publishNotifications: Migration = {
  name: '0002-publish-notifications',
  up: async (knex) =>
    void (await knex.raw(`
      DELETE FROM outbox WHERE kind = 'notification.requested';
      DROP INDEX outbox_to_publish, outbox_to_confirm;
      CREATE INDEX outbox_to_publish ON outbox (id) WHERE published_at IS NULL;
      CREATE INDEX outbox_to_confirm ON outbox (published_at) WHERE published_at IS NOT NULL;`)),
}
