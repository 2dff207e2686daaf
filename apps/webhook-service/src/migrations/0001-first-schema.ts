import type { Migration } from '@leadwire/service-kit'

export const SCHEMA = `
CREATE TABLE endpoints (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  description text,
  enabled boolean NOT NULL,
  secret text NOT NULL CHECK (octet_length(secret) >= 16 AND length(secret) <= 255),
  -- Secrets that still sign, oldest first: [{"secret": text, "until": ISO instant}].
  old_secrets jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The row stays, for its deliveries.
  deleted_at timestamptz
);
CREATE INDEX endpoints_of_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;

-- A ring of a day's hours, so that nothing has to be removed: an hour takes the place of the one a day before.
CREATE TABLE endpoint_hours (
  endpoint_id bigint NOT NULL REFERENCES endpoints,
  hour_of_day smallint NOT NULL CHECK (hour_of_day BETWEEN 0 AND 23),
  hour timestamptz NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  -- Of all time, as far as this row has seen; it outlives the hour.
  last_success_at timestamptz,
  PRIMARY KEY (endpoint_id, hour_of_day)
) WITH (fillfactor = 50);

CREATE TABLE events (
  id uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  account_key text NOT NULL,
  lead_reference uuid NOT NULL,
  -- What every attempt sends, byte for byte.
  body bytea NOT NULL,
  traceparent text,
  -- A sample belongs to no lead: whoever compares events with leads leaves it out.
  sample boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX events_of_lead ON events (lead_reference);

-- Without foreign keys: a delivery is only ever written by the statement that writes its event and locks its endpoint's
-- row, and neither is ever removed. Looking both up again was a fifth of what storing an event costs PostgreSQL.
CREATE TABLE deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  event_id uuid NOT NULL,
  endpoint_id bigint NOT NULL,
  lead_reference uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivered', 'exhausted', 'held', 'cancelled')),
  attempt_count integer NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  next_attempt_at timestamptz,
  -- An attempt by hand stands beside the schedule and moves nothing of it.
  by_hand_at timestamptz,
  by_hand_attempts integer NOT NULL DEFAULT 0 CHECK (by_hand_attempts >= 0),
  -- Somebody makes the attempt until then; a result under another number comes too late.
  claimed_until timestamptz,
  claim integer,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT one_delivery_per_endpoint UNIQUE (event_id, endpoint_id),
  CONSTRAINT scheduled_while_open CHECK ((status IN ('pending', 'held')) = (next_attempt_at IS NOT NULL)),
  CONSTRAINT ended_by_an_attempt CHECK (status NOT IN ('delivered', 'exhausted') OR attempt_count > 0),
  CONSTRAINT claimed_until_a_time CHECK ((claim IS NULL) = (claimed_until IS NULL))
) WITH (
  -- Room in each page for a claim's new version of a row. No index holds what a claim changes, so a claim touches none.
  fillfactor = 60,
  -- Dead rows slow the next claim down, so they are vacuumed early.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0
);
-- The next two without deduplication: what is due at one time would share an entry, and PostgreSQL can only mark it as dead
-- when all of its rows are. Until then every claim looked again at each row that was done (62 instead of 44 µs a delivery).
CREATE INDEX deliveries_open ON deliveries (status, endpoint_id, next_attempt_at) WITH (deduplicate_items = off)
  WHERE next_attempt_at IS NOT NULL;
-- In the order of time: looking for what is due soon costs what is due, and not what waits.
CREATE INDEX deliveries_soon ON deliveries (next_attempt_at) WITH (deduplicate_items = off)
  WHERE status = 'pending' AND next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_hand ON deliveries (endpoint_id, by_hand_at) WHERE by_hand_at IS NOT NULL;
CREATE INDEX deliveries_of_account ON deliveries (account_id, id);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
-- With the endpoint, so that an account's open and exhausted deliveries are counted in the index alone.
CREATE INDEX deliveries_unfinished ON deliveries (account_id, status, id) INCLUDE (endpoint_id)
  WHERE status <> 'delivered';

-- Without a foreign key: an attempt is written by the statement that moves its delivery, and no delivery is ever removed.
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

export const firstSchema: Migration = {
  name: '001-first-schema',
  up: async (knex) => void (await knex.raw(SCHEMA)),
}
