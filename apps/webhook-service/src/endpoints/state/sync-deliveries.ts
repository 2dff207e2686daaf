import {
  type Database,
  type OpenTransaction,
  type Round,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { openAt, readInOrder } from '../../delivery-sql'

/** Deliveries that one transaction moves: some 100 ms of PostgreSQL's time on one processor. */
const BATCH = 2000

const mark = statement('mark-out-of-sync')`
  INSERT INTO endpoint_syncs (endpoint_id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id
  ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id`

const cancelReplays = statement('cancel-replays')`
  UPDATE replays SET state = 'cancelled', ended_at = clock_timestamp() WHERE endpoint_id = ANY ($1) AND state = 'running'`

/** Deletes the failures of changed or deleted endpoints. Every transaction that writes deliveries too writes them first. */
export const deleteFailures = statement('delete-failures')`
  DELETE FROM endpoint_failures WHERE endpoint_id = ANY ($1::bigint[])`

/**
 * Marks endpoints that the same transaction disabled, enabled or deleted before, and ends their replays and what they have failed for.
 * Waits for a batch that is being moved by their state of before.
 */
export const markOutOfSync = async (tx: OpenTransaction, endpointIds: number[]): Promise<void> => {
  await mark(tx, endpointIds)
  await cancelReplays(tx, endpointIds)
  await deleteFailures(tx, endpointIds)
}

// One process at a time moves deliveries of an endpoint, and a change of the endpoint waits for it: so its state is the current one.
const nextEndpoint = statement<{ endpointId: number }>('next-endpoint-to-sync')`
  SELECT endpoint_id AS "endpointId" FROM endpoint_syncs ORDER BY queued_at LIMIT 1 FOR UPDATE SKIP LOCKED`

const statusOf = statement<{ status: string }>('state-of-endpoint')`
  SELECT ${openAt('p')} AS status FROM endpoints p WHERE id = $1`

// The longest due first, as an enabled endpoint gets them, and a poll reads them. Locked by id, as by every statement that waits for
// locks of many deliveries.
const moveDeliveries = statement<{ count: number; last: string }>('move-deliveries')`
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

const dropManual = statement<{ count: number }>('drop-manual-attempts')`
  WITH locked AS MATERIALIZED (
    SELECT id FROM deliveries WHERE id = ANY (
      ARRAY (SELECT id FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL ORDER BY manual_at LIMIT $2)
    ) ORDER BY id FOR UPDATE
  ), dropped AS (
    UPDATE deliveries d SET manual_at = NULL FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count FROM locked`

const endSync = statement('end-sync')`DELETE FROM endpoint_syncs WHERE endpoint_id = $1`

const queueAgain = statement('queue-sync-again')`
  UPDATE endpoint_syncs SET queued_at = clock_timestamp() WHERE endpoint_id = $1`

/**
 * Makes the function that moves a batch of the open deliveries of one endpoint to the status that matches its state, and drops manual
 * attempts unless it is enabled. Any process may do so and stop at any moment. A batch starts where the last one of this process ended:
 * while an old snapshot is open, PostgreSQL keeps moved rows in the index. After a full batch the loop pauses for others.
 */
export const createSyncDeliveries = (database: Database, batch = BATCH): (() => Promise<Round>) => {
  /** By status and endpoint, up to which due time deliveries were moved. */
  const movedTo = new LRUCache<string, string>({ max: 10_000 })

  const move = async (tx: Transaction, endpointId: number, [from, to]: [string, string], limit: number) => {
    const key = `${from} ${endpointId}`
    const since = movedTo.get(key)
    const [row] = await moveDeliveries(tx, endpointId, from, to, limit, since ?? '-infinity')
    const { count, last } = row!
    if (count === limit) movedTo.set(key, last)
    else movedTo.delete(key)
    // Earlier ones may have been added, or this transaction may fail: the next round starts from the beginning.
    return { count, done: count < limit && since === undefined }
  }

  const moveBatch = async (tx: Transaction, endpointId: number): Promise<boolean> => {
    const [endpoint] = await statusOf(tx, endpointId)
    if (!endpoint) return true
    const { status } = endpoint
    let left = batch
    for (const from of ['pending', 'held'].filter((open) => open !== status)) {
      const { count, done } = await move(tx, endpointId, [from, status], left)
      if (!done) return false
      left -= count
    }
    if (status === 'pending') return true
    const [dropped] = await dropManual(tx, endpointId, left)
    return dropped!.count < left
  }

  return () =>
    database.transaction(async (tx) => {
      const [next] = await nextEndpoint(tx)
      if (!next) return false
      readInOrder(tx)
      const done = await moveBatch(tx, next.endpointId)
      const end = done ? endSync : queueAgain
      end.send(tx, next.endpointId)
      return done || 'pause'
    })
}
