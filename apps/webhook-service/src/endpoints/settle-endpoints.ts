import type { Database, OpenTransaction, Round, Transaction } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { readInOrder } from './delivery-ranges'

/** Rows that one transaction moves: some 100 ms of PostgreSQL's time on one processor. */
export const PORTION = 2000

// One copy at a time moves deliveries of an endpoint, and who changes the endpoint waits for it: so it is moved by what the
// endpoint is.
const NEXT = 'SELECT endpoint_id FROM unsettled_endpoints ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED'

const STATE = 'SELECT enabled, deleted_at IS NOT NULL AS deleted FROM endpoints WHERE id = $1'

// The longest due first: it goes first where the endpoint is enabled, and else stands before all others where what is due is looked for.
// Locked in the order of ids, as by every statement that locks many deliveries and waits.
const MOVE = `
  WITH chosen AS MATERIALIZED (
    SELECT id, next_attempt_at FROM deliveries WHERE endpoint_id = $1 AND status = $2 AND next_attempt_at >= $5
    ORDER BY next_attempt_at LIMIT $4
  ), locked AS MATERIALIZED (
    SELECT id FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND status = $2 ORDER BY id FOR UPDATE
  ), moved AS (
    UPDATE deliveries d SET status = $3, next_attempt_at = CASE WHEN $3 <> 'cancelled' THEN next_attempt_at END
    FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count, max(next_attempt_at) AS last FROM chosen`

const FORGET_BY_HAND = `
  WITH locked AS MATERIALIZED (
    SELECT id FROM deliveries WHERE id = ANY (
      ARRAY (SELECT id FROM deliveries WHERE endpoint_id = $1 AND by_hand_at IS NOT NULL ORDER BY by_hand_at LIMIT $2)
    ) ORDER BY id FOR UPDATE
  ), forgotten AS (
    UPDATE deliveries d SET by_hand_at = NULL FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count FROM locked`

type Open = 'pending' | 'held'

/** Up to when the deliveries of an endpoint with a status were moved. */
type Moved = LRUCache<string, string>

/** Moves up to `portion` deliveries of an endpoint to a status, and says how many, and whether there are no more. */
const moveDeliveries = async (
  tx: Transaction,
  moved: Moved,
  move: { endpointId: number; from: Open; to: Open | 'cancelled'; portion: number },
): Promise<{ count: number; done: boolean }> => {
  const { endpointId, from, to, portion } = move
  const key = `${from} ${endpointId}`
  const since = moved.get(key)
  const [{ count, last }] = (await tx.query<{ count: number; last: string }>({
    ...{ name: 'move-deliveries', text: MOVE, values: [endpointId, from, to, portion, since ?? '-infinity'] },
  })) as [{ count: number; last: string }]
  if (count === portion) moved.set(key, last)
  else moved.delete(key)
  // Some may have come before it, or stayed there: this transaction may fail. The next round begins anew.
  return { count, done: count < portion && since === undefined }
}

/** Resolves with whether nothing is left to be done for the endpoint. */
const portionOf = async (
  tx: Transaction,
  moved: Moved,
  endpointId: number,
  portion: number,
): Promise<boolean> => {
  const [endpoint] = await tx.query<{ enabled: boolean; deleted: boolean }>({
    name: 'state-of-endpoint',
    text: STATE,
    values: [endpointId],
  })
  const move = (from: Open, to: Open | 'cancelled', left = portion) =>
    moveDeliveries(tx, moved, { endpointId, from, to, portion: left })
  if (!endpoint) return true
  if (!endpoint.deleted)
    return (await (endpoint.enabled ? move('held', 'pending') : move('pending', 'held'))).done
  const pending = await move('pending', 'cancelled')
  if (!pending.done) return false
  const held = await move('held', 'cancelled', portion - pending.count)
  if (!held.done) return false
  const left = portion - pending.count - held.count
  const [{ count }] = (await tx.query<{ count: number }>({
    ...{ name: 'forget-by-hand', text: FORGET_BY_HAND, values: [endpointId, left] },
  })) as [{ count: number }]
  return count < left
}

const settleOne = async (tx: OpenTransaction, moved: Moved, portion: number): Promise<Round> => {
  const [next] = await tx.query<{ endpoint_id: number }>({ name: 'next-unsettled', text: NEXT })
  if (!next) return false
  const endpointId = next.endpoint_id
  readInOrder(tx)
  const settled = await portionOf(tx, moved, endpointId, portion)
  const text = settled
    ? 'DELETE FROM unsettled_endpoints WHERE endpoint_id = $1'
    : 'UPDATE unsettled_endpoints SET turn = clock_timestamp() WHERE endpoint_id = $1'
  tx.send({ text, values: [endpointId] })
  return settled || 'pause'
}

/**
 * Makes the function that moves a portion of the open deliveries of one endpoint to the status that the endpoint says: held while it is
 * disabled, pending while it is enabled, cancelled when it is deleted, and then attempts by hand are forgotten. Any copy may do so, and
 * stop at any moment: what is left is found again. A portion begins where this process's last one ended: while somebody's old
 * snapshot is open, PostgreSQL keeps what was moved in the index, and each portion would read all of it again.
 *
 * The function resolves with whether to go on at once: after a whole portion the database is left to others for a moment.
 */
export const createSettleEndpoints = (
  database: Database,
  { portion = PORTION }: { portion?: number } = {},
): (() => Promise<Round>) => {
  const moved: Moved = new LRUCache({ max: 10_000 })
  return () => database.transaction((tx) => settleOne(tx, moved, portion))
}
