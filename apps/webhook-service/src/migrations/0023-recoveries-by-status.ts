import type { Migration } from '@leadwire/service-kit'

const STATUS = "ALTER TABLE recoveries ADD COLUMN status text NOT NULL DEFAULT 'exhausted'"

/** A recovery is of the deliveries of an endpoint with one status; one of several statuses is several rows. */
export const recoveriesByStatus: Migration = {
  name: '023-recoveries-by-status',
  up: async (knex) =>
    void (await knex.raw(
      `${STATUS}; SET LOCAL search_path TO notifications; ${STATUS}; SET LOCAL search_path TO DEFAULT;`,
    )),
}
