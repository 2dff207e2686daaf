import type { Database, OpenTransaction, Transaction } from '@leadwire/service-kit'
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
    SELECT id FROM deliveries WHERE endpoint_id = $1 AND status = $2 AND next_attempt_at IS NOT NULL
    ORDER BY next_attempt_at LIMIT $4
  ), locked AS MATERIALIZED (
    SELECT id FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND status = $2 ORDER BY id FOR UPDATE
  ), moved AS (
    UPDATE deliveries d SET status = $3, next_attempt_at = CASE WHEN $3 <> 'cancelled' THEN next_attempt_at END
    FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count FROM chosen`

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

const portionOf = async (tx: Transaction, endpointId: number, portion: number): Promise<number> => {
  const count = async (name: string, text: string, ...values: unknown[]) =>
    (await tx.query<{ count: number }>({ name, text, values: [endpointId, ...values] }))[0]!.count
  const [endpoint] = await tx.query<{ enabled: boolean; deleted: boolean }>({
    name: 'state-of-endpoint',
    text: STATE,
    values: [endpointId],
  })
  const move = (from: Open, to: Open | 'cancelled', left = portion) =>
    count('move-deliveries', MOVE, from, to, left)
  if (!endpoint) return 0
  if (!endpoint.deleted) return endpoint.enabled ? move('held', 'pending') : move('pending', 'held')
  let moved = await move('pending', 'cancelled')
  if (moved < portion) moved += await move('held', 'cancelled', portion - moved)
  if (moved < portion) moved += await count('forget-by-hand', FORGET_BY_HAND, portion - moved)
  return moved
}

const settleOne = async (tx: OpenTransaction, portion: number): Promise<boolean> => {
  const [next] = await tx.query<{ endpoint_id: number }>({ name: 'next-unsettled', text: NEXT })
  if (!next) return false
  const endpointId = next.endpoint_id
  readInOrder(tx)
  const settled = (await portionOf(tx, endpointId, portion)) < portion
  const text = settled
    ? 'DELETE FROM unsettled_endpoints WHERE endpoint_id = $1'
    : 'UPDATE unsettled_endpoints SET turn = clock_timestamp() WHERE endpoint_id = $1'
  tx.send({ text, values: [endpointId] })
  return settled
}

/**
 * Moves a portion of the open deliveries of one endpoint to the status that the endpoint says: held while it is disabled, pending
 * while it is enabled, cancelled when it is deleted, and then attempts by hand are forgotten. Any copy may do so, and stop at
 * any moment: what is left is found again.
 *
 * Resolves with whether to go on at once: after a whole portion the database is left to others for a moment.
 */
export const settleEndpoints = (
  database: Database,
  { portion = PORTION }: { portion?: number } = {},
): Promise<boolean> => database.transaction((tx) => settleOne(tx, portion))
