import type { Migration } from '@leadwire/service-kit'

// A table of its own: whoever stores events locks the rows of endpoints, and must not wait for who moves deliveries.
const UNSETTLED = `
  CREATE TABLE unsettled_endpoints (
    endpoint_id bigint PRIMARY KEY,
    -- They take turns: whose deliveries were moved last comes last.
    turn timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX unsettled_endpoints_by_turn ON unsettled_endpoints (turn);`

const RECOVERIES = `
  CREATE TABLE recoveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id bigint NOT NULL,
    -- Deliveries that were made then or later.
    since timestamptz NOT NULL,
    -- A delivery that was attempted later is asked for no more.
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Deliveries up to this one are marked.
    after_id bigint NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX recoveries_of_endpoint ON recoveries (endpoint_id, id);
  CREATE INDEX recoveries_by_turn ON recoveries (next_at);`

/**
 * Endpoints that were disabled, enabled or deleted, and whose open deliveries are still to be moved to the status that says so. And
 * what is to be recovered.
 */
export const unsettledEndpoints: Migration = {
  name: '014-unsettled-endpoints',
  up: async (knex) =>
    void (await knex.raw(`
      ${UNSETTLED}
      ${RECOVERIES}
      SET LOCAL search_path TO notifications;
      ${UNSETTLED}
      ${RECOVERIES}
      SET LOCAL search_path TO DEFAULT;`)),
}
