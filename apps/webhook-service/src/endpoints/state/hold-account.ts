import { type Database, recordAudit } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { markOutOfSync } from './change-state'

const change = (enabled: boolean) => `
  UPDATE endpoints SET enabled = ${enabled}, disabled_by_suspension = ${!enabled}, updated_at = clock_timestamp()
  WHERE id = ANY (ARRAY (
    SELECT id FROM endpoints
    WHERE account_id = $1 AND deleted_at IS NULL AND ${enabled ? 'disabled_by_suspension' : 'enabled'} ORDER BY id
  ))
  RETURNING id`

const HOLD = change(false)
const RESUME = change(true)

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
      const endpoints = await tx.query<{ id: number }>({ text: held ? HOLD : RESUME, values: [accountId] })
      const ids = endpoints.map(({ id }) => id)
      await markOutOfSync(tx, ids)
      const action = held ? 'account.held' : 'account.let_go'
      if (ids.length > 0) recordAudit(tx, actor, { accountId, action, targetId: accountId })
    })
  await changeIn(database)
  await changeIn(notifications)
  wake('syncs')
  if (!held) {
    wake('webhooks')
    wake('notifications')
  }
  return {}
}
