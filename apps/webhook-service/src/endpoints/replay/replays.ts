import { type Recovery, Replay, type RetrieveReplayRequest } from '@leadwire/contracts'
import {
  type Database,
  type Pruned,
  recordAudit,
  requirePart,
  statement,
  type Transaction,
  theRow,
} from '@leadwire/service-kit'
import { isUnclaimed } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { takesEvent } from '../filter'

// Includes held deliveries. Only enabled endpoints are replayed, so their held deliveries are about to become
// pending.
const RECOVERED = ['exhausted', 'held', 'pending']

/**
 * The statuses of deliveries for each `state` of a request. `missing` stands for an event without a delivery.
 */
const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: [...RECOVERED, 'missing'],
  all: [...RECOVERED, 'missing', 'delivered'],
}

/**
 * Returns the statuses of deliveries for the `state` of a request. Throws `bad_request` for an unknown state.
 */
export const findStatuses = (state: string): string[] => requirePart(STATUSES[state], 'known state')

/**
 * SQL: whether the replay `r` covers the event `e`. `r` must also have the columns `events`, `leads` and
 * `filter` of the endpoint. The event types of the replay replace the event types of the endpoint. The other
 * conditions of the endpoint still apply.
 */
export const IS_WANTED = `(
  e.erased_at IS NULL AND e.created_at >= r.since AND e.created_at < r.before
  AND ${takesEvent('r', 'e', 'coalesce(r.types, r.events)')}
)`

/**
 * SQL: whether a delivery has no manual attempt, is not due and is not claimed. `claimMs` is SQL for the
 * length of a claim in milliseconds.
 */
export const isWaiting = (alias: string, claimMs: string) => `(
  ${alias}.manual_at IS NULL AND ${isUnclaimed(claimMs)}
  AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
)`

export const REPLAY_COLUMNS = `id, state, matched, enqueued, created_at AS "createdAt",
  state = 'running' AND (dry_run OR counted_to < until_number) AS counting`

const find = statement('retrieve-replay')`
  SELECT ${REPLAY_COLUMNS} FROM replays
  WHERE account_id = $1 AND endpoint_id = $2 AND id = $3 AND NOT recovers`

const cancel = statement('cancel-replay')`
  UPDATE replays SET state = 'cancelled', ended_at = clock_timestamp()
  WHERE account_id = $1 AND endpoint_id = $2 AND id = $3 AND NOT recovers AND state = 'running' RETURNING id`

const findReplay = async (
  database: Transaction,
  { accountId, endpointId, replayId }: RetrieveReplayRequest,
) => theRow(await find(database, accountId, endpointId, replayId), 'replay')

/** Returns a replay. Throws `not_found`. */
export const retrieveReplay: Operation<'retrieveReplay'> = async ({ database }, key) => ({
  replay: Replay.fromPartial(await findReplay(database, key)),
})

/**
 * Cancels a running replay. A replay that has ended stays as it is. Attempts that the replay has already
 * enqueued are still made. Throws `not_found`.
 */
export const cancelReplay: Operation<'cancelReplay'> = ({ database, actor }, key) =>
  database.transaction(async (tx) => {
    const { accountId, endpointId, replayId } = key
    const cancelled = await cancel(tx, accountId, endpointId, replayId)
    const replay = Replay.fromPartial(await findReplay(tx, key))
    const action = 'webhook_endpoint.replay_cancelled'
    if (cancelled.length > 0) recordAudit(tx, actor, { accountId, action, targetId: endpointId })
    return { replay }
  })

const selectRecovery = statement<Recovery>('recovery-of-endpoint')`
  SELECT min(since) AS since, bool_or(matched_capped) AS "remainingCapped",
    sum(greatest(0, matched - enqueued))::int + (
      SELECT count(*)::int FROM (
        SELECT FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL LIMIT 1000
      ) manual
    ) AS remaining
  FROM replays WHERE endpoint_id = $1 AND state = 'running' AND recovers HAVING count(*) > 0`

/** Returns the progress of the recoveries that run at an endpoint. Undefined if none runs. */
export const findRecovery = async (database: Database, endpointId: number): Promise<Recovery | undefined> => {
  const [recovery] = await selectRecovery(database, endpointId)
  return recovery
}

/** How many replays one statement deletes. */
const BATCH = 1000

const deleteOld = statement('delete-old-replays')`
  DELETE FROM replays WHERE id = ANY (ARRAY (
    SELECT id FROM replays WHERE ended_at < now() - $1::bigint * interval '1 ms'
    ORDER BY ended_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  )) RETURNING id`

/** Creates the pruning of replays that ended more than `keptMs` ago. */
export const createPruneReplays = (database: Database, keptMs: number) => ({
  batch: async (): Promise<Pruned> => {
    const { length: rows } = await deleteOld(database, keptMs)
    return { rows, more: rows === BATCH }
  },
})
