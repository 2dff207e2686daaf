import type { Migration } from '@leadwire/service-kit'

/** What separates the cells of a file that is imported: it is read from the header, like the columns. */
export const importDelimiter: Migration = {
  name: '0023-import-delimiter',
  up: async (knex) =>
    void (await knex.raw(`ALTER TABLE imports ADD COLUMN delimiter text NOT NULL DEFAULT ','`)),
}
