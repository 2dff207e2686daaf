import type { Migration } from '@leadwire/service-kit'

// The words that a lead is found by. They are written after the lead was committed, and can all be made anew from the leads.
// No foreign keys: they would read and lock a lead for each of its words.
const TERMS = `
  CREATE TABLE lead_search (
    account_id bigint NOT NULL,
    term text COLLATE "C" NOT NULL CHECK (term <> ''),
    number bigint NOT NULL,
    PRIMARY KEY (account_id, term, number)
  );
  CREATE INDEX lead_search_of_lead ON lead_search (account_id, number);`

// Up to which number an account's leads have their words, and the format that these are of. Whoever writes words of an
// account's leads holds this row.
const PROGRESS = `
  CREATE TABLE lead_search_progress (
    account_id bigint PRIMARY KEY REFERENCES accounts,
    number bigint NOT NULL DEFAULT 0,
    format integer NOT NULL
  );`

/** Leads can be found by words. */
export const leadSearch: Migration = {
  name: '0009-lead-search',
  up: async (knex) => void (await knex.raw(TERMS + PROGRESS)),
}
