import type { Migration } from '@leadwire/service-kit'

// stream_sequence: where the event is in the stream LEADS. lead_version: NULL of an event that is of no lead.
const change = (schema: string) => `
  ALTER TABLE ${schema}.events RENAME COLUMN sequence TO stream_sequence;
  ALTER TABLE ${schema}.events RENAME COLUMN kind TO type;
  ALTER TABLE ${schema}.events ADD COLUMN number bigint, ADD COLUMN lead_version integer,
    ADD COLUMN test boolean NOT NULL DEFAULT false;`

// A counter is written with each batch of its account: there is room in its page for the next version of the row.
const COUNTERS = `
  CREATE TABLE public.event_counters (account_id bigint PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 50);`

/** The events of an account have numbers: 1, 2, 3 … in the order in which they are stored. */
export const eventNumbers: Migration = {
  name: '023-event-numbers',
  up: async (knex) => void (await knex.raw(change('public') + change('notifications') + COUNTERS)),
}
