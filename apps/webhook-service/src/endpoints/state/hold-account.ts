import { type Database, recordAudit } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { statement } from '../../statement'
import { markOutOfSync } from './change-state'

const change = (name: string, enabled: boolean) => statement<{ id: number }>(name)`
  UPDATE endpoints SET enabled = ${enabled}, disabled_by_suspension = ${!enabled}, updated_at = clock_timestamp()
  WHERE id = ANY (ARRAY (
    SELECT id FROM endpoints
    WHERE account_id = $1 AND deleted_at IS NULL AND ${enabled ? 'disabled_by_suspension' : 'enabled'} ORDER BY id
  ))
  RETURNING id`

const hold = change('hold-account', false)
const resume = change('resume-account', true)

/**
 * Disables the endpoints of a suspended account, so that their deliveries are held; or enables those that its suspension
 * disabled. May be repeated.
 */
export const holdAccount: Operation<'holdAccount', 'database' | 'notifications' | 'actor' | 'wake'> = async (
  { database, notifications, actor, wake },
  { accountId, held },
) => {
  const changeIn = (tables: Database) =>
    tables.transaction(async (tx) => {
      const ids = (await (held ? hold : resume)(tx, accountId)).map(({ id }) => id)
      await markOutOfSync(tx, ids)
      const action = held ? 'account.held' : 'account.let_go'
      if (ids.length > 0) recordAudit(tx, actor, { accountId, action, targetId: accountId })
    })
  await changeIn(database)
  await changeIn(notifications)
  for (const loop of ['syncs', 'webhooks', 'notifications'] as const) wake(loop)
  return {}
}
