import type { Migration } from '@leadwire/service-kit'

const COLUMNS = `
  -- The secret and those that were replaced and still sign, encrypted; NULL in rows of earlier releases until a service starts.
  ADD COLUMN sealed_secrets bytea,
  -- When the first of the replaced ones ends.
  ADD COLUMN secrets_end_at timestamptz,
  ALTER COLUMN secret DROP NOT NULL`

/** Secrets are encrypted. Those of earlier releases are, by each service that starts (`encryptAllSecrets`). */
export const sealedSecrets: Migration = {
  name: '004-sealed-secrets',
  up: async (knex) =>
    void (await knex.raw(`ALTER TABLE endpoints ${COLUMNS}; ALTER TABLE notifications.endpoints ${COLUMNS}`)),
}
