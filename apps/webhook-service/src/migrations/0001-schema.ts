import { AUDIT_TABLE, type Migration } from '@leadwire/service-kit'

/** The tables of endpoints, events and deliveries. Webhooks have them in one schema, notifications in another. */
const TABLES = `
CREATE TABLE endpoints (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  description text,
  enabled boolean NOT NULL,
  disabled_reason text,
  disabled_by_suspension boolean NOT NULL DEFAULT false,
  -- The secret, replaced ones that still sign until secrets_end_at, and the values of the endpoint's own headers.
  sealed_secrets bytea,
  secrets_end_at timestamptz,
  header_names text[] NOT NULL DEFAULT '{}',
  -- Not checked against a list of types: a new type takes no migration.
  events text[] NOT NULL DEFAULT '{lead.created}',
  leads text NOT NULL DEFAULT 'all',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The row stays, for its deliveries.
  deleted_at timestamptz
);
CREATE INDEX endpoints_of_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;
CREATE INDEX endpoints_ever_of_account ON endpoints (account_id, id);
CREATE INDEX endpoints_ending_secrets ON endpoints (secrets_end_at) WHERE secrets_end_at IS NOT NULL;

-- A ring of 24 hours, so that nothing has to be removed: each hour replaces the same hour of the day before.
CREATE TABLE endpoint_hours (
  endpoint_id bigint NOT NULL REFERENCES endpoints,
  hour_of_day smallint NOT NULL CHECK (hour_of_day BETWEEN 0 AND 23),
  hour timestamptz NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  -- Outlives the hour.
  last_success_at timestamptz,
  PRIMARY KEY (endpoint_id, hour_of_day)
) WITH (fillfactor = 50);

-- A row exists from an endpoint's first failure to its next success. So it is written rarely, and attempts share no row.
CREATE TABLE endpoint_failures (
  endpoint_id bigint PRIMARY KEY,
  since timestamptz NOT NULL,
  notified_at timestamptz
);
CREATE INDEX endpoint_failures_since ON endpoint_failures (since);
CREATE INDEX endpoint_failures_unnotified ON endpoint_failures (endpoint_id) WHERE notified_at IS NULL;

-- Endpoints that were disabled, enabled or deleted, and whose open deliveries do not have the matching status yet. A table of
-- its own: storing events locks the rows of endpoints, and must not wait for a batch of deliveries to be moved.
CREATE TABLE endpoint_syncs (
  endpoint_id bigint PRIMARY KEY,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX endpoint_syncs_in_order ON endpoint_syncs (queued_at);

-- Each recovers the deliveries of an endpoint that have one status.
CREATE TABLE recoveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  endpoint_id bigint NOT NULL,
  status text NOT NULL,
  since timestamptz NOT NULL,
  -- Deliveries attempted after this time are skipped.
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Deliveries up to this id are done.
  after_id bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX recoveries_of_endpoint ON recoveries (endpoint_id, id);
CREATE INDEX recoveries_in_order ON recoveries (next_at);

CREATE TABLE events (
  id uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  account_key text NOT NULL,
  type text NOT NULL DEFAULT 'lead.created',
  -- The place in the log of the account: 1, 2, 3 … in the order of storing. NULL of what is not in it.
  number bigint,
  lead_reference uuid NOT NULL,
  lead_version integer,
  test boolean NOT NULL DEFAULT false,
  -- A sample has no lead: reconciliation leaves it out.
  sample boolean NOT NULL DEFAULT false,
  body bytea NOT NULL,
  traceparent text,
  stream_sequence bigint,
  -- How many deliveries the event was stored with; NULL of samples and tombstones.
  fan_out integer,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Counts instead of created_at when the event is pruned.
  kept_at timestamptz,
  erased_at timestamptz
) WITH (
  -- Pruning removes the oldest entries of an index, and reads past dead ones until they are vacuumed.
  autovacuum_vacuum_scale_factor = 0.02
);
CREATE INDEX events_of_lead ON events (lead_reference);
CREATE INDEX events_by_age ON events ((coalesce(kept_at, created_at)));
CREATE UNIQUE INDEX events_by_number ON events (account_id, number) WHERE number IS NOT NULL;

-- Invalid events: the outbox stops publishing them.
CREATE TABLE dead_letters (
  event_id uuid PRIMARY KEY,
  stream_sequence bigint NOT NULL,
  reason text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX dead_letters_by_age ON dead_letters (recorded_at);

-- Without foreign keys: one statement writes a delivery with its event and locks the endpoint, and an event goes after its
-- deliveries. Checking both keys was a fifth of what storing an event costs PostgreSQL.
CREATE TABLE deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  event_id uuid NOT NULL,
  endpoint_id bigint NOT NULL,
  lead_reference uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivered', 'exhausted', 'held', 'cancelled')),
  attempt_count integer NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  next_attempt_at timestamptz,
  -- A manual attempt leaves the schedule as it is.
  manual_at timestamptz,
  manual_attempts integer NOT NULL DEFAULT 0 CHECK (manual_attempts >= 0),
  -- One process may make the attempt until then. A result under another number comes too late.
  claimed_until timestamptz,
  claim integer,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT one_delivery_per_endpoint UNIQUE (event_id, endpoint_id),
  CONSTRAINT scheduled_while_open CHECK ((status IN ('pending', 'held')) = (next_attempt_at IS NOT NULL)),
  CONSTRAINT ended_by_an_attempt CHECK (status NOT IN ('delivered', 'exhausted') OR attempt_count > 0),
  CONSTRAINT claimed_until_a_time CHECK ((claim IS NULL) = (claimed_until IS NULL))
) WITH (
  -- Room in each page for the next version of a claimed row. No index holds what a claim changes, so a claim updates none.
  fillfactor = 60,
  -- Dead rows slow the next claim down, so they are vacuumed early.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0
);
-- Without deduplication, these two: deliveries due at the same time would share an entry, which PostgreSQL marks as dead only
-- when all of them are. Until then each claim read all that were done (62 instead of 44 µs a delivery).
CREATE INDEX deliveries_open ON deliveries (status, endpoint_id, next_attempt_at) WITH (deduplicate_items = off)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_soon ON deliveries (next_attempt_at) WITH (deduplicate_items = off)
  WHERE status = 'pending' AND next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_manual ON deliveries (endpoint_id, manual_at) WHERE manual_at IS NOT NULL;
CREATE INDEX deliveries_of_account ON deliveries (account_id, id);
CREATE INDEX deliveries_by_status ON deliveries (endpoint_id, status, id);

-- Without a foreign key: one statement writes an attempt and moves its delivery, and removes both.
CREATE TABLE attempts (
  delivery_id bigint NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  started_at timestamptz NOT NULL,
  duration_ms integer NOT NULL CHECK (duration_ms >= 0),
  status integer,
  error text,
  response text,
  PRIMARY KEY (delivery_id, number),
  CONSTRAINT succeeded_by_a_2xx CHECK (error IS NOT NULL OR (status IS NOT NULL AND status BETWEEN 200 AND 299))
);
`

const SHARED = `
-- The highest number of an account's events. Each batch writes it: the page has room for the next version of the row.
CREATE TABLE event_counters (account_id bigint PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 50);

-- Responses that are repeated for a request with the same Idempotency-Key.
CREATE TABLE idempotency_keys (
  token_id bigint NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  -- Encrypted.
  body bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (token_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
`

const NOTIFICATIONS = `
CREATE SCHEMA notifications;
SET LOCAL search_path TO notifications;
${TABLES}
ALTER TABLE endpoints ALTER events SET DEFAULT '{notification.requested}';
-- A message about an endpoint has no lead.
ALTER TABLE events ALTER type SET DEFAULT 'notification.requested', ALTER lead_reference DROP NOT NULL;
ALTER TABLE deliveries ALTER lead_reference DROP NOT NULL;
SET LOCAL search_path TO DEFAULT;
`

export const schema: Migration = {
  name: '001-schema',
  up: async (knex) => void (await knex.raw(TABLES + SHARED + AUDIT_TABLE + NOTIFICATIONS)),
}
