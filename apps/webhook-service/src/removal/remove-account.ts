import type { Database } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { removeEvents } from './remove-lead-events'

const BATCH = 500

// Samples: the events of leads were removed before.
const REMAINING = 'SELECT event_id AS id FROM deliveries WHERE account_id = $1 ORDER BY id LIMIT $2'

const OF_ENDPOINTS = ['recoveries', 'endpoint_syncs', 'endpoint_failures', 'endpoint_hours'].map(
  (table) =>
    `DELETE FROM ${table} WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))`,
)

const OF_ACCOUNT = [
  'DELETE FROM endpoints WHERE account_id = $1',
  'DELETE FROM public.event_counters WHERE account_id = $1',
]

const DELETE_AUDIT = `
  DELETE FROM public.audit WHERE account_id = $1 AND id = ANY (
    ARRAY (SELECT id FROM public.audit WHERE account_id = $1 LIMIT ${BATCH})
  ) RETURNING id`

const removeFrom = async (database: Database, accountId: number): Promise<boolean> => {
  const events = await database.query<{ id: string }>({ text: REMAINING, values: [accountId, BATCH] })
  const ids = events.map(({ id }) => id)
  if (ids.length > 0) await removeEvents(database, ids)
  else
    await database.transaction(async (tx) => {
      for (const text of [...OF_ENDPOINTS, ...OF_ACCOUNT]) tx.send({ text, values: [accountId] })
    })
  return ids.length === 0
}

/**
 * Removes a batch of what remains of an account; `done` when that was all. Saved responses (`idempotency_keys`) name no account:
 * they are deleted 24 hours after they were saved.
 */
export const removeAccount: Operation<'removeAccount', 'database' | 'notifications'> = async (
  { database, notifications },
  { accountId },
) => {
  const removed = [await removeFrom(database, accountId), await removeFrom(notifications, accountId)]
  const audit = await database.query<object>({ text: DELETE_AUDIT, values: [accountId] })
  return { done: removed.every(Boolean) && audit.length < BATCH }
}
