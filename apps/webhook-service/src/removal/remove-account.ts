import type { Database } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { statement } from '../statement'
import { removeEvents } from './remove-lead-events'

const BATCH = 500

// Samples: the events of leads were removed before.
const remainingEvents = statement<{ id: string }>('remaining-events')`
  SELECT event_id AS id FROM deliveries WHERE account_id = $1 ORDER BY id LIMIT ${BATCH}`

const deleteAll = [
  ...[
    'replays',
    'recoveries',
    'endpoint_syncs',
    'endpoint_failures',
    'endpoint_hours',
    'endpoint_reports',
  ].map(
    (table) => statement(`delete-${table}-of-account`)`
      DELETE FROM ${table} WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))`,
  ),
  statement('delete-endpoints-of-account')`DELETE FROM endpoints WHERE account_id = $1`,
  statement('delete-counter-of-account')`DELETE FROM public.event_counters WHERE account_id = $1`,
]

const deleteAudit = statement('delete-audit-of-account')`
  DELETE FROM public.audit WHERE account_id = $1 AND id = ANY (
    ARRAY (SELECT id FROM public.audit WHERE account_id = $1 LIMIT ${BATCH})
  ) RETURNING id`

const removeFrom = async (database: Database, accountId: number): Promise<boolean> => {
  const ids = (await remainingEvents(database, accountId)).map(({ id }) => id)
  if (ids.length > 0) await removeEvents(database, ids)
  else
    await database.transaction(async (tx) => {
      for (const each of deleteAll) each.send(tx, accountId)
    })
  return ids.length === 0
}

/** Removes a batch of what remains of an account; `done`: that was all. `idempotency_keys` name no account, and end after 24 hours. */
export const removeAccount: Operation<'removeAccount'> = async (
  { database, notifications },
  { accountId },
) => {
  const removed = [await removeFrom(database, accountId), await removeFrom(notifications, accountId)]
  const audit = await deleteAudit(database, accountId)
  return { done: removed.every(Boolean) && audit.length < BATCH }
}
