import { type Database, recordAudit } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { statement } from '../../statement'
import { markOutOfSync } from './sync-deliveries'

const setHeld = statement<{ id: number }>('hold-account')`
  UPDATE endpoints SET enabled = NOT $2, disabled_by_suspension = $2, updated_at = clock_timestamp()
  WHERE id = ANY (ARRAY (
    SELECT id FROM endpoints
    WHERE account_id = $1 AND deleted_at IS NULL AND CASE WHEN $2::boolean THEN enabled ELSE disabled_by_suspension END ORDER BY id
  ))
  RETURNING id`

/** Disables the endpoints of a suspended account, or enables those that its suspension disabled. May be repeated. */
export const holdAccount: Operation<'holdAccount'> = async (
  { database, notifications, actor, wake },
  { accountId, held },
) => {
  const changeIn = (tables: Database) =>
    tables.transaction(async (tx) => {
      const ids = (await setHeld(tx, accountId, held)).map(({ id }) => id)
      await markOutOfSync(tx, ids)
      const action = held ? 'account.held' : 'account.let_go'
      if (ids.length > 0) recordAudit(tx, actor, { accountId, action, targetId: accountId })
    })
  await changeIn(database)
  await changeIn(notifications)
  for (const loop of ['syncs', 'webhooks', 'notifications'] as const) wake(loop)
  return {}
}
