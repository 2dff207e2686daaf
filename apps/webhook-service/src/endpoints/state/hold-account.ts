import { type Database, recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { markOutOfSync } from './sync-deliveries'

/** The first key of these advisory locks; any constant that no other lock of the database has. */
const ACCOUNT_LOCKS = 1_280_791_892

/** Changes that create, enable or hold endpoints of an account run one after the other. */
export const lockAccount = statement('lock-account')`
  SELECT pg_advisory_xact_lock(${ACCOUNT_LOCKS}, ($1::bigint % 2147483647)::int)`

/** SQL: whether the account $1 is suspended. An endpoint that is enabled meanwhile is disabled by the suspension. */
export const IS_HELD = 'EXISTS (SELECT FROM public.held_accounts WHERE account_id = $1)'

const keepHeld = statement('keep-held')`
  INSERT INTO public.held_accounts (account_id) VALUES ($1) ON CONFLICT DO NOTHING`

const endHeld = statement('end-held')`DELETE FROM public.held_accounts WHERE account_id = $1`

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
      lockAccount.send(tx, accountId)
      const record = held ? keepHeld : endHeld
      record.send(tx, accountId)
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
