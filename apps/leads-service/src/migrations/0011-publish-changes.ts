import type { Migration } from '@leadwire/service-kit'

// Not validated: the rows that are there fit, by the constraint that goes, and the outbox may be long.
const SWAP = `
  ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check, ADD CONSTRAINT outbox_kind_check
    CHECK (kind IN ('lead.created', 'lead.changed', 'notification.requested')) NOT VALID`

/** What happens to leads after their creation is published too. */
export const publishChanges: Migration = {
  name: '0011-publish-changes',
  up: async (knex) => void (await knex.raw(SWAP)),
}
