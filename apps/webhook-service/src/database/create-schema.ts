import type { Migration } from '@leadwire/service-kit'

const SCHEMA = `
CREATE TABLE endpoints (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  description text,
  enabled boolean NOT NULL,
  secret text NOT NULL CHECK (length(secret) BETWEEN 8 AND 255),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deleted_at timestamptz
);
CREATE INDEX endpoints_of_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;

CREATE TABLE events (
  id uuid PRIMARY KEY,
  account_id bigint NOT NULL,
  account_key text NOT NULL,
  lead_reference uuid NOT NULL,
  body bytea NOT NULL,
  traceparent text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX events_of_lead ON events (lead_reference);

CREATE TABLE deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  event_id uuid NOT NULL REFERENCES events,
  endpoint_id bigint NOT NULL REFERENCES endpoints,
  lead_reference uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivered', 'exhausted', 'held', 'cancelled')),
  attempt_count integer NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  next_attempt_at timestamptz,
  claimed_by integer,
  claim integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT one_delivery_per_endpoint UNIQUE (event_id, endpoint_id),
  CONSTRAINT scheduled_while_open CHECK ((status IN ('pending', 'held')) = (next_attempt_at IS NOT NULL)),
  CONSTRAINT ended_by_an_attempt CHECK (status NOT IN ('delivered', 'exhausted') OR attempt_count > 0),
  -- An endpoint that is disabled or deleted in the middle of an attempt leaves the claim to that attempt.
  CONSTRAINT claimed_while_unfinished CHECK (claimed_by IS NULL OR status IN ('pending', 'held', 'cancelled'))
);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at)
  WHERE status = 'pending' AND claimed_by IS NULL;
CREATE INDEX deliveries_claimed ON deliveries (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX deliveries_of_account ON deliveries (account_id, id);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_not_delivered ON deliveries (account_id, status, id) WHERE status <> 'delivered';
-- A queue's dead rows slow the next claim down, so they are swept early.
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE attempts (
  delivery_id bigint NOT NULL REFERENCES deliveries,
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

export const createSchema: Migration = {
  name: '001-create-schema',
  up: async (knex) => void (await knex.raw(SCHEMA)),
}
