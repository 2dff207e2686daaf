import { apart, type Migration } from '@leadwire/service-kit'

// A lead's customer belongs to the same account, and the customer's row says that there is one. Each check costs a create some
// 10 us of PostgreSQL's time.
const STATEMENTS = [
  'ALTER TABLE leads DROP CONSTRAINT IF EXISTS leads_account_id_fkey',
  'ALTER TABLE outbox DROP CONSTRAINT IF EXISTS outbox_account_id_fkey',
]

/** A create asks once whether its account is there. */
export const fewerChecks: Migration = {
  name: '0021-fewer-checks',
  transaction: false,
  up: (knex) => apart(knex, STATEMENTS),
}
