import type { Migration } from '@leadwire/service-kit'

const REMOVE = `
  DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE kind = 'notification.requested' LIMIT 10000)`

// A new index that a try before left unfinished is made anew.
const INDEXES = [
  'DROP INDEX CONCURRENTLY IF EXISTS outbox_unpublished',
  'DROP INDEX CONCURRENTLY IF EXISTS outbox_unconfirmed',
  'CREATE INDEX CONCURRENTLY outbox_unpublished ON outbox (id) WHERE published_at IS NULL',
  'CREATE INDEX CONCURRENTLY outbox_unconfirmed ON outbox (published_at) WHERE published_at IS NOT NULL',
  'DROP INDEX CONCURRENTLY IF EXISTS outbox_to_publish',
  'DROP INDEX CONCURRENTLY IF EXISTS outbox_to_confirm',
]

/** Notifications are published like leads. What was recorded of them before, nobody sent: it is removed. */
export const publishNotifications: Migration = {
  name: '0002-publish-notifications',
  transaction: false,
  up: async (knex) => {
    let removed: { rowCount: number }
    do {
      removed = await knex.raw(REMOVE)
    } while (removed.rowCount > 0)
    for (const statement of INDEXES) await knex.raw(statement)
  },
}
