import type { RemoveAccountRequest, RemoveAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { removeEvents } from './remove-events'

const PORTION = 500

// What is left are samples: the events of leads are gone.
const LEFT_OVER = 'SELECT event_id AS id FROM deliveries WHERE account_id = $1 ORDER BY id LIMIT $2'

const OF_ACCOUNT = [
  'DELETE FROM recoveries WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))',
  'DELETE FROM unsettled_endpoints WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))',
  'DELETE FROM endpoint_failures WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))',
  'DELETE FROM endpoint_hours WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))',
  'DELETE FROM endpoints WHERE account_id = $1',
  'DELETE FROM public.event_counters WHERE account_id = $1',
]

const DELETE_AUDIT = `
  DELETE FROM public.audit WHERE account_id = $1 AND id = ANY (
    ARRAY (SELECT id FROM public.audit WHERE account_id = $1 LIMIT ${PORTION})
  ) RETURNING id`

const removeIn = async (database: Database, accountId: number): Promise<boolean> => {
  const events = await database.query<{ id: string }>({ text: LEFT_OVER, values: [accountId, PORTION] })
  if (events.length > 0) {
    await removeEvents(
      database,
      events.map(({ id }) => id),
    )
    return false
  }
  await database.transaction(async (tx) => {
    for (const text of OF_ACCOUNT) tx.send({ text, values: [accountId] })
  })
  return true
}

/**
 * Removes a portion of what is left of an account; `done` when that was all. Saved responses (`idempotency_keys`) name no
 * account: they go 24 hours after they were saved. Throws invalid.
 */
export const removeAccount = async (
  { database, notifications }: { database: Database; notifications: Database },
  { accountId }: RemoveAccountRequest,
): Promise<RemoveAccountResponse> => {
  if (accountId < 1) throw ServiceError.invalid({ account_id: ['must be an id'] })
  const removed = [await removeIn(database, accountId), await removeIn(notifications, accountId)]
  const audit = await database.query<object>({ text: DELETE_AUDIT, values: [accountId] })
  return { done: removed.every(Boolean) && audit.length < PORTION }
}
