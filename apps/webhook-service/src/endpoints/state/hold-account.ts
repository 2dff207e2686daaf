import { type Database, recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { markOutOfSync } from './sync-deliveries'

/** The first key of these advisory locks: a constant that no other lock of the database uses. */
const ACCOUNT_LOCKS = 1_280_791_892

/** Makes transactions that create, enable or hold endpoints of an account run one after the other. */
export const lockAccount = statement<object, { accountId: number }>('lock-account')`
  SELECT pg_advisory_xact_lock(${ACCOUNT_LOCKS}, (:accountId::bigint % 2147483647)::int)`

/**
 * SQL: whether the account `:accountId` is suspended. Requires the lock of `lockAccount`. If an endpoint is
 * created as enabled or is enabled during a suspension, it is stored as disabled, and
 * `disabled_by_suspension` is set.
 */
export const IS_HELD = 'EXISTS (SELECT FROM public.held_accounts WHERE account_id = :accountId)'

const startHold = statement('keep-held')`
  INSERT INTO public.held_accounts (account_id) VALUES ($1) ON CONFLICT DO NOTHING`

const endHold = statement('end-held')`DELETE FROM public.held_accounts WHERE account_id = $1`

const updateEndpoints = statement<{ id: number }>('hold-account')`
  UPDATE endpoints SET enabled = NOT :held, disabled_by_suspension = :held, updated_at = clock_timestamp()
  WHERE id = ANY (ARRAY (
    SELECT id FROM endpoints
    WHERE account_id = :accountId AND deleted_at IS NULL
      AND CASE WHEN :held::boolean THEN enabled ELSE disabled_by_suspension END
    ORDER BY id
  ))
  RETURNING id`

/**
 * Disables the endpoints of a suspended account, or enables the endpoints that the suspension has disabled.
 * May be repeated.
 */
export const holdAccount: Operation<'holdAccount'> = async (
  { database, notifications, actor, wake },
  { accountId, held },
) => {
  const changeIn = (tables: Database) =>
    tables.transaction(async (tx) => {
      lockAccount.send(tx, { accountId })
      const record = held ? startHold : endHold
      record.send(tx, accountId)
      const changed = await updateEndpoints(tx, { accountId, held })
      const ids = changed.map(({ id }) => id)
      await markOutOfSync(tx, ids)
      const action = held ? 'account.held' : 'account.released'
      if (ids.length > 0) recordAudit(tx, actor, { accountId, action, targetId: accountId })
    })
  await changeIn(database)
  await changeIn(notifications)
  for (const loop of ['syncs', 'webhooks', 'notifications'] as const) wake(loop)
  return {}
}
