import type { Migration } from '@leadwire/service-kit'

// Beside the other one, by which 0.2.0 tells whether a request is the same.
const ADD = 'ALTER TABLE idempotency_keys ADD COLUMN unordered_fingerprint bytea'

/** The same JSON in another order is the same request. */
export const unorderedFingerprints: Migration = {
  name: '0019-unordered-fingerprints',
  up: async (knex) => void (await knex.raw(ADD)),
}
