import type { Migration } from '@leadwire/service-kit'

const index = (name: string, on: string) => [
  // One that a try before left unfinished is made anew.
  `DROP INDEX CONCURRENTLY IF EXISTS ${name}`,
  `CREATE INDEX CONCURRENTLY ${name} ON ${on}`,
]

const STATEMENTS = [
  ...index('outbox_of_lead', 'outbox (lead_reference) WHERE lead_reference IS NOT NULL'),
  ...index('idempotency_keys_of_lead', 'idempotency_keys (lead_reference) WHERE lead_reference IS NOT NULL'),
  ...index('customers_by_email', 'customers (account_id, lower(email), id)'),
  ...index('customers_by_phone', 'customers (account_id, phone_link, id)'),
  ...index('customers_by_mobile', 'customers (account_id, mobile_link, id) WHERE mobile_link IS NOT NULL'),
  ...index('leads_of_customer', 'leads (account_id, customer_id)'),
  'ALTER TABLE leads VALIDATE CONSTRAINT leads_postcode_or_none',
]

/** What is kept of a lead, and the leads of a person, are found by an index. */
export const placesOfAPerson: Migration = {
  name: '0013-places-of-a-person',
  transaction: false,
  up: async (knex) => {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
