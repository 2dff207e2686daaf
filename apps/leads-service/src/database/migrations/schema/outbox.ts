// A row is written in the transaction of what it reports, as published already, and stays until webhook-service is known to have
// stored the event. payload is what is published, byte for byte. published_at 'infinity' with a refusal: a dead letter, which
// neither relay nor sweep finds.
export const outbox = `
  CREATE TABLE outbox (
    event_id uuid PRIMARY KEY,
    account_id bigint NOT NULL,
    type text NOT NULL,
    payload bytea NOT NULL,
    lead_reference uuid,
    traceparent text,
    sequence bigint,
    refusal text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    published_at timestamptz
  );
  CREATE INDEX outbox_unpublished ON outbox (created_at) WHERE published_at IS NULL;
  CREATE INDEX outbox_unconfirmed ON outbox (published_at) WHERE published_at IS NOT NULL;
  CREATE INDEX outbox_of_lead ON outbox (lead_reference) WHERE lead_reference IS NOT NULL;`
