import type { Migration } from '@leadwire/service-kit'

// A new index that a try before left unfinished is made anew.
const INDEX = [
  'DROP INDEX CONCURRENTLY IF EXISTS users_email_once_per_account_new',
  `CREATE UNIQUE INDEX CONCURRENTLY users_email_once_per_account_new ON users (account_id, lower(email))
    WHERE removed_at IS NULL`,
]

/** An e-mail is there once per account among the users who were not removed. */
export const emailsOfPresentUsers: Migration = {
  name: '0004-emails-of-present-users',
  transaction: false,
  up: async (knex) => {
    for (const statement of INDEX) await knex.raw(statement)
  },
}
