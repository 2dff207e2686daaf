import {
  type Database,
  type OpenTransaction,
  type Round,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { readInOrder, renderOpenStatus } from '../../delivery-sql'

/**
 * How many deliveries one transaction updates. PostgreSQL needs about 100 ms for these updates. So a change
 * of the endpoint, which must wait for the transaction, is hardly delayed.
 */
const BATCH = 2000

const mark = statement('mark-out-of-sync')`
  INSERT INTO endpoint_syncs (endpoint_id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id
  ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id`

const cancelReplays = statement('cancel-replays')`
  UPDATE replays SET state = 'cancelled', ended_at = clock_timestamp()
  WHERE endpoint_id = ANY ($1) AND state = 'running'`

/** Deletes the records of when endpoints began to fail. */
export const deleteFailures = statement('delete-failures')`
  DELETE FROM endpoint_failures WHERE endpoint_id = ANY ($1::bigint[])`

const deleteUnreviewed = statement('delete-unreviewed-attempts')`
  DELETE FROM unreviewed_attempts WHERE endpoint_id = ANY ($1::bigint[])`

/**
 * Resets the failures of endpoints after a change. Earlier attempts no longer count as failures. Deletes the
 * unreviewed attempts first: if a review of these attempts is running, this deletion waits until the review
 * has ended, so that `deleteFailures` also deletes the failures that the review has written.
 */
export const resetFailures = async (tx: OpenTransaction, endpointIds: number[]): Promise<void> => {
  await deleteUnreviewed(tx, endpointIds)
  await deleteFailures(tx, endpointIds)
}

/**
 * Marks endpoints so that their deliveries are updated. Also cancels their replays and resets their failures.
 * Must be called in each transaction that disables, enables or deletes endpoints, after the change. If
 * another transaction is still updating a batch of their deliveries to the endpoints' old state, waits until
 * it has ended.
 */
export const markOutOfSync = async (tx: OpenTransaction, endpointIds: number[]): Promise<void> => {
  await mark(tx, endpointIds)
  await cancelReplays(tx, endpointIds)
  await resetFailures(tx, endpointIds)
}

// Locks the row of `endpoint_syncs`, so that one process at a time updates the deliveries of an endpoint. A
// change of the endpoint waits for this lock, so the state that is read under the lock stays current.
const nextEndpoint = statement<{ endpointId: number }>('next-endpoint-to-sync')`
  SELECT endpoint_id AS "endpointId" FROM endpoint_syncs ORDER BY queued_at LIMIT 1 FOR UPDATE SKIP LOCKED`

const findStatus = statement<{ status: string }>('state-of-endpoint')`
  SELECT ${renderOpenStatus('p')} AS status FROM endpoints p WHERE id = $1`

// Starts with the deliveries that have been due the longest, because an enabled endpoint receives these
// first. Locks deliveries in the order of their ids, as every statement that waits for the locks of many
// deliveries does.
const updateStatus = statement<{ count: number; last: string }>('move-deliveries')`
  WITH chosen AS MATERIALIZED (
    SELECT id, next_attempt_at FROM deliveries
    WHERE endpoint_id = :endpointId AND status = :from AND next_attempt_at >= :since
    ORDER BY next_attempt_at LIMIT :limit
  ), locked AS MATERIALIZED (
    SELECT id FROM deliveries
    WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND status = :from ORDER BY id FOR UPDATE
  ), updated AS (
    UPDATE deliveries d
    SET status = :to, next_attempt_at = CASE WHEN :to <> 'cancelled' THEN next_attempt_at END
    FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count, max(next_attempt_at) AS last FROM chosen`

const deleteManualAttempts = statement<{ count: number }>('drop-manual-attempts')`
  WITH locked AS MATERIALIZED (
    SELECT id FROM deliveries WHERE id = ANY (ARRAY (
      SELECT id FROM deliveries WHERE endpoint_id = :endpointId AND manual_at IS NOT NULL
      ORDER BY manual_at LIMIT :limit
    )) ORDER BY id FOR UPDATE
  ), updated AS (
    UPDATE deliveries d SET manual_at = NULL FROM locked WHERE d.id = locked.id
  )
  SELECT count(*)::int AS count FROM locked`

const endSync = statement('end-sync')`DELETE FROM endpoint_syncs WHERE endpoint_id = $1`

const queueAgain = statement('queue-sync-again')`
  UPDATE endpoint_syncs SET queued_at = clock_timestamp() WHERE endpoint_id = $1`

/**
 * Creates one round of the loop that updates the open deliveries of changed endpoints. A round updates one
 * batch of deliveries of one endpoint to the status that matches the state of the endpoint. It also deletes
 * manual attempts unless the endpoint is enabled. Any process may run a round, and may be killed at any
 * moment.
 *
 * A batch starts where the last batch of this process ended. Otherwise the batch would also read the rows
 * that are already updated, because PostgreSQL keeps these rows in the index while an old snapshot is open.
 * After a full batch the loop pauses, so that other work can proceed.
 */
export const createSyncDeliveries = (database: Database, batch = BATCH): (() => Promise<Round>) => {
  /** The due time up to which deliveries were updated, by status and endpoint. */
  const updatedTo = new LRUCache<string, string>({ max: 10_000 })

  const updateSome = async (
    tx: Transaction,
    { endpointId, from, to, limit }: { endpointId: number; from: string; to: string; limit: number },
  ) => {
    const key = `${from} ${endpointId}`
    const since = updatedTo.get(key)
    const [row] = await updateStatus(tx, { endpointId, from, to, limit, since: since ?? '-infinity' })
    const { count, last } = row!
    if (count === limit) updatedTo.set(key, last)
    else updatedTo.delete(key)
    // The endpoint is done only after a batch that started with the first delivery, for two reasons:
    // deliveries that are due earlier may have been added since, and the transaction of an earlier batch may
    // have failed.
    return { count, done: count < limit && since === undefined }
  }

  const updateBatch = async (tx: Transaction, endpointId: number): Promise<boolean> => {
    const [endpoint] = await findStatus(tx, endpointId)
    if (!endpoint) return true
    const { status } = endpoint
    let left = batch
    for (const from of ['pending', 'held'].filter((open) => open !== status)) {
      const { count, done } = await updateSome(tx, { endpointId, from, to: status, limit: left })
      if (!done) return false
      left -= count
    }
    if (status === 'pending') return true
    const [deleted] = await deleteManualAttempts(tx, { endpointId, limit: left })
    return deleted!.count < left
  }

  return () =>
    database.transaction(async (tx) => {
      const [next] = await nextEndpoint(tx)
      if (!next) return false
      readInOrder(tx)
      const done = await updateBatch(tx, next.endpointId)
      const end = done ? endSync : queueAgain
      end.send(tx, next.endpointId)
      return done || 'pause'
    })
}
