import { apart, type Migration } from '@leadwire/service-kit'

/** Which postcodes there are is said in one place: contracts. */
export const postcodes: Migration = {
  name: '0024-postcodes',
  transaction: false,
  up: (knex) => apart(knex, ['ALTER TABLE leads DROP CONSTRAINT IF EXISTS leads_postcode_or_none']),
}
