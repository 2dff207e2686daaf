import type { Migration } from '@leadwire/service-kit'

/** The suspended accounts, for both schemas. It begins with the accounts whose endpoints a suspension has disabled. */
export const heldAccounts: Migration = {
  name: '008-held-accounts',
  up: async (knex) =>
    void (await knex.raw(`
      CREATE TABLE held_accounts (account_id bigint PRIMARY KEY);
      INSERT INTO held_accounts
      SELECT account_id FROM endpoints WHERE disabled_by_suspension AND deleted_at IS NULL
      UNION SELECT account_id FROM notifications.endpoints WHERE disabled_by_suspension AND deleted_at IS NULL`)),
}
