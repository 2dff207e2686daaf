import type { Migration } from '@leadwire/service-kit'

// What is due soon in the order of its time, so that looking for it costs what is due and not what waits.
export const findWhatIsSoon: Migration = {
  name: '004-find-what-is-soon',
  up: async (knex) =>
    void (await knex.raw(`
      CREATE INDEX deliveries_soon ON deliveries (next_attempt_at)
      WHERE status = 'pending' AND next_attempt_at IS NOT NULL`)),
}
