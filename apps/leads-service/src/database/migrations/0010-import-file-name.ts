import type { Migration } from '@leadwire/service-kit'

// The check reads all rows of the table, which are few: an import is deleted 30 days after its end.
const STATEMENTS = `
  SET LOCAL lock_timeout = '500ms';
  ALTER TABLE imports ADD COLUMN file_name text CHECK (char_length(file_name) <= 255)`

export const importFileName: Migration = {
  name: '0010-import-file-name',
  up: async (knex) => void (await knex.raw(STATEMENTS)),
}
