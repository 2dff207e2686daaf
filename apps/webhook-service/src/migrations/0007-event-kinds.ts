import { apart, type Migration } from '@leadwire/service-kit'

// The defaults are what is there, and what copies of the release before go on writing. No list of kinds is checked here: a new
// one then takes no migration.
const add = (schema: string, kind: string) => [
  `ALTER TABLE ${schema}.events ADD COLUMN IF NOT EXISTS kind text NOT NULL DEFAULT '${kind}'`,
  `ALTER TABLE ${schema}.endpoints
    ADD COLUMN IF NOT EXISTS events text[] NOT NULL DEFAULT '{${kind}}',
    ADD COLUMN IF NOT EXISTS leads text NOT NULL DEFAULT 'all'`,
]

/** An endpoint chooses which kinds of event it is told of, and of which leads. */
export const eventKinds: Migration = {
  name: '007-event-kinds',
  transaction: false,
  up: (knex) =>
    apart(knex, [...add('public', 'lead.created'), ...add('notifications', 'notification.requested')]),
}
