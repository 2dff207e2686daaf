// A key is either answered (fingerprint and body) or claimed by a request that is still in flight. Keys are deleted from one end
// of an index, which is quick to search again once vacuumed.
export const idempotency = `
  CREATE TABLE idempotency_keys (
    token_id bigint NOT NULL REFERENCES tokens,
    key text NOT NULL,
    fingerprint bytea,
    body bytea,
    lead_reference uuid,
    claim_id uuid,
    claimed_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (token_id, key),
    CHECK ((body IS NULL) = (fingerprint IS NULL)),
    CHECK ((body IS NULL) = (claim_id IS NOT NULL)),
    CHECK ((claim_id IS NULL) = (claimed_until IS NULL))
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
  CREATE INDEX idempotency_keys_of_lead ON idempotency_keys (lead_reference) WHERE lead_reference IS NOT NULL;`
