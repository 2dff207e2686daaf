import type { Migration } from '@leadwire/service-kit'

// Notifications of no lead have none. Both drops change the catalogue alone.
const ALTER = `
  ALTER TABLE endpoint_failures ADD COLUMN told_at timestamptz;
  ALTER TABLE notifications.events ALTER COLUMN lead_reference DROP NOT NULL;
  ALTER TABLE notifications.deliveries ALTER COLUMN lead_reference DROP NOT NULL`

/** Of an endpoint that only fails it is known whether the account's contact was told. */
export const untoldFailures: Migration = {
  name: '012-untold-failures',
  up: async (knex) => void (await knex.raw(ALTER)),
}
