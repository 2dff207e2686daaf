import type { Migration } from '@leadwire/service-kit'

// A row is there from an endpoint's first failure after a success (or its making) to the next success: so it is written, and
// looked up by its key, once in a while, and attempts at an endpoint change no row that they share.
const TABLE = `
  CREATE TABLE endpoint_failures (
    endpoint_id bigint PRIMARY KEY,
    since timestamptz NOT NULL
  );
  CREATE INDEX endpoint_failures_since ON endpoint_failures (since);`

/** Which endpoints only fail, and since when. An endpoint that was disabled for it says so. */
export const endpointFailures: Migration = {
  name: '009-endpoint-failures',
  up: async (knex) =>
    void (await knex.raw(`
      ALTER TABLE endpoints ADD COLUMN disabled_reason text;
      ${TABLE}
      SET LOCAL search_path TO notifications;
      ${TABLE}
      SET LOCAL search_path TO DEFAULT;`)),
}
