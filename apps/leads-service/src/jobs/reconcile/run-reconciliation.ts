import type { ReconcileCursor } from '@leadwire/contracts'
import { reconcile } from './reconcile'
import type { ReconcileDeps } from './reconcile-deps'

// A lease: when a process dies during a check, another starts one. Two checks at once do no harm.
const CLAIM = `
  UPDATE reconciliation SET due_at = clock_timestamp() + interval '30 seconds'
  WHERE due_at <= clock_timestamp() RETURNING clock_timestamp() AS at`

const RENEW = `UPDATE reconciliation SET due_at = clock_timestamp() + interval '30 seconds'`

const RELEASE = `UPDATE reconciliation SET due_at = $1::timestamptz + $2::bigint * interval '1 ms'`

/**
 * Checks the new leads of all accounts when the interval is over and no other copy is checking. Resolves at the end of the check, or soon after
 * `signal` is aborted.
 */
export const reconcileInTurn = async (
  deps: ReconcileDeps,
  { intervalMs, signal }: { intervalMs: number; signal: AbortSignal },
): Promise<boolean> => {
  const { database } = deps
  const [claimed] = await database.query<{ at: string }>({ name: 'claim-reconciliation', text: CLAIM })
  if (!claimed) return false
  let cursor: ReconcileCursor | undefined
  do {
    cursor = (await reconcile(deps)({ full: false, accountId: undefined, cursor })).cursor
    if (cursor) await database.query({ name: 'renew-reconciliation', text: RENEW })
  } while (cursor && !signal.aborted)
  await database.query({ text: RELEASE, values: [claimed.at, intervalMs] })
  return false
}
