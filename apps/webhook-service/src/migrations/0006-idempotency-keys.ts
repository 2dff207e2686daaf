import type { Migration } from '@leadwire/service-kit'

/** Responses that are answered again when a request is repeated under its Idempotency-Key; they are kept for 24 hours. */
export const idempotencyKeys: Migration = {
  name: '006-idempotency-keys',
  up: async (knex) =>
    void (await knex.raw(`
      CREATE TABLE idempotency_keys (
        token_id bigint NOT NULL,
        key text NOT NULL,
        -- SHA-256 of what was asked.
        fingerprint bytea NOT NULL,
        -- The message of the response, encrypted.
        body bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (token_id, key)
      );
      CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)`)),
}
