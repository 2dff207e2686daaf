import type { Migration } from '@leadwire/service-kit'

const COLUMNS = {
  leads: 'ADD COLUMN IF NOT EXISTS external_id text, ADD COLUMN IF NOT EXISTS attributes json',
  // The leads that the saved answer of a batch has.
  idempotency_keys: 'ADD COLUMN IF NOT EXISTS lead_references uuid[]',
}

// A term is `key:value` (attributeTerms of contracts). No foreign keys: they would read and lock a lead for each term.
const TERMS = `
  CREATE TABLE IF NOT EXISTS lead_attributes (
    account_id bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (account_id, term, number)
  )`

const INDEXES = {
  leads_by_external_id:
    'UNIQUE INDEX CONCURRENTLY % ON leads (account_id, external_id) WHERE external_id IS NOT NULL',
  idempotency_keys_of_leads:
    'INDEX CONCURRENTLY % ON idempotency_keys USING gin (lead_references) WHERE lead_references IS NOT NULL',
}

/** Attributes and external ids of leads. */
export const attributes: Migration = {
  name: '0005-attributes',
  transaction: false,
  up: async (knex) => {
    for (const [table, columns] of Object.entries(COLUMNS))
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE ${table} ${columns}`)
      })
    await knex.raw(TERMS)
    for (const [name, index] of Object.entries(INDEXES)) {
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
      await knex.raw(`CREATE ${index.replace('%', name)}`)
    }
  },
}
