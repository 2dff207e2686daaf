import type { Migration } from '@leadwire/service-kit'

const REPLAYS = `
CREATE TABLE replays (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  endpoint_id bigint NOT NULL,
  state text NOT NULL DEFAULT 'running',
  -- Of a recovery, of which an endpoint may have several; they run one after the other.
  recovers boolean NOT NULL DEFAULT false,
  dry_run boolean NOT NULL DEFAULT false,
  -- Of deliveries; missing: events without one.
  statuses text[] NOT NULL,
  -- NULL: what the endpoint subscribes to.
  types text[],
  since timestamptz NOT NULL DEFAULT '-infinity',
  before timestamptz NOT NULL DEFAULT 'infinity',
  until_number bigint NOT NULL,
  -- Events up to these numbers are counted and replayed.
  counted_to bigint NOT NULL,
  replayed_to bigint NOT NULL,
  matched bigint NOT NULL DEFAULT 0,
  matched_capped boolean NOT NULL DEFAULT false,
  enqueued bigint NOT NULL DEFAULT 0,
  -- Deliveries that changed after this time are skipped.
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz
);
CREATE UNIQUE INDEX one_replay_per_endpoint ON replays (endpoint_id) WHERE state = 'running' AND NOT recovers;
CREATE INDEX replays_of_endpoint ON replays (endpoint_id, state, id);
CREATE INDEX replays_in_order ON replays (next_at) WHERE state = 'running';
CREATE INDEX replays_by_age ON replays (ended_at) WHERE ended_at IS NOT NULL;
`

/** Replays of the log to an endpoint. Notifications have none: the table is there for the statements that both schemas share. */
export const replays: Migration = {
  name: '003-replays',
  up: async (knex) =>
    void (await knex.raw(
      `${REPLAYS} SET LOCAL search_path TO notifications; ${REPLAYS} SET LOCAL search_path TO DEFAULT;`,
    )),
}
