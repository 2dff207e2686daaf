import type { Migration } from '@leadwire/service-kit'

// The new index takes the name of the old one, by which the release before, too, tells that an e-mail is taken. A second run
// finds nothing to do.
const SWAP = `
  DO $$ BEGIN
    IF to_regclass('users_email_once_per_account_new') IS NOT NULL THEN
      DROP INDEX users_email_once_per_account;
      ALTER INDEX users_email_once_per_account_new RENAME TO users_email_once_per_account;
    END IF;
  END $$`

/** The e-mail of a removed user is free. */
export const freeEmails: Migration = {
  name: '0005-free-emails',
  up: async (knex) => void (await knex.raw(SWAP)),
}
