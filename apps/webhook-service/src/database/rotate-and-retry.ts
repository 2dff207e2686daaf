import type { Migration } from '@leadwire/service-kit'

const SCHEMA = `
-- Secrets that still sign, oldest first: [{"secret": text, "until": ISO instant}].
ALTER TABLE endpoints ADD COLUMN old_secrets jsonb NOT NULL DEFAULT '[]';

-- A sample belongs to no lead: whoever compares events with leads leaves it out.
ALTER TABLE events ADD COLUMN sample boolean NOT NULL DEFAULT false;

-- An attempt by hand stands beside the schedule and moves nothing of it.
ALTER TABLE deliveries
  ADD COLUMN by_hand_at timestamptz,
  ADD COLUMN by_hand_attempts integer NOT NULL DEFAULT 0 CHECK (by_hand_attempts >= 0),
  DROP CONSTRAINT claimed_while_unfinished,
  ADD CONSTRAINT claimed_while_unfinished CHECK (
    claimed_by IS NULL OR status IN ('pending', 'held', 'cancelled') OR by_hand_at IS NOT NULL
  );
CREATE INDEX deliveries_by_hand ON deliveries (endpoint_id, by_hand_at)
  WHERE by_hand_at IS NOT NULL AND claimed_by IS NULL;

-- With the endpoint in the index, an account's open and exhausted deliveries are counted without touching one.
CREATE INDEX deliveries_unfinished ON deliveries (account_id, status, id) INCLUDE (endpoint_id)
  WHERE status <> 'delivered';
DROP INDEX deliveries_not_delivered;

-- A ring of a day's hours, so that nothing has to be swept: an hour takes the place of the one a day before.
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
`

export const rotateAndRetry: Migration = {
  name: '002-rotate-and-retry',
  up: async (knex) => void (await knex.raw(SCHEMA)),
}
