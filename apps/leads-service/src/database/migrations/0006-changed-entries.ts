import type { Migration } from '@leadwire/service-kit'

const KINDS = ['appointments', 'callbacks']

const index = (unique: string, name: string, on: string) => [
  `DROP INDEX CONCURRENTLY IF EXISTS ${name}`,
  `CREATE ${unique} INDEX CONCURRENTLY ${name} ON ${on}`,
]

// invited_user_id: in whose calendar the invitation is. No foreign key: it would be checked under a lock of both tables.
const COLUMNS: [table: string, columns: string][] = [
  ...KINDS.map((kind): [string, string] => [
    kind,
    `ADD COLUMN IF NOT EXISTS cancelled_at timestamptz, ADD COLUMN IF NOT EXISTS changed_at timestamptz,
     ADD COLUMN IF NOT EXISTS invitation_id uuid, ADD COLUMN IF NOT EXISTS invited_user_id bigint,
     ADD COLUMN IF NOT EXISTS sequence integer NOT NULL DEFAULT 0`,
  ]),
  [
    'users',
    'ADD COLUMN IF NOT EXISTS calendar_hash bytea, ADD COLUMN IF NOT EXISTS calendar_created_at timestamptz',
  ],
]

/** Appointments and callbacks can be moved and cancelled, and users have calendars. */
export const changedEntries: Migration = {
  name: '0006-changed-entries',
  transaction: false,
  up: async (knex) => {
    for (const [table, columns] of COLUMNS)
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE ${table} ${columns}`)
      })
    const indexes = [
      ...KINDS.flatMap((kind) =>
        index('', `${kind}_of_user`, `${kind} (account_id, user_id, date) WHERE cancelled_at IS NULL`),
      ),
      ...index('UNIQUE', 'users_by_calendar', 'users (calendar_hash) WHERE calendar_hash IS NOT NULL'),
    ]
    for (const statement of indexes) await knex.raw(statement)
  },
}
