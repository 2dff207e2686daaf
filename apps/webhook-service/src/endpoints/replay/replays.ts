import { type Recovery, Replay, type RetrieveReplayRequest } from '@leadwire/contracts'
import {
  type Database,
  type Pruned,
  recordAudit,
  statement,
  type Transaction,
  theRow,
} from '@leadwire/service-kit'
import { UNCLAIMED } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { passesFilter } from '../filter'

// Held deliveries that are out of sync only move to pending. An event without a delivery is `missing`.
const RECOVERED = ['exhausted', 'held', 'pending']

/** The statuses of deliveries that a state of a request stands for. */
export const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: [...RECOVERED, 'missing'],
  all: [...RECOVERED, 'missing', 'delivered'],
}

/**
 * SQL: whether the endpoint takes the event `e` of the replay `r`, which has the endpoint's columns beside its own. Given types replace
 * those of the subscription; its other conditions stay.
 */
export const IS_WANTED = `(
  e.erased_at IS NULL AND e.created_at >= r.since AND e.created_at < r.before
  AND e.type = ANY (coalesce(r.types, r.events)) AND (r.leads = 'all' OR (r.leads = 'test') = e.test)
  AND ${passesFilter('r.filter', 'e.match')}
)`

/** SQL: the delivery that `alias` names has no manual attempt, is not due and not claimed. */
export const isWaiting = (alias: string) => `(
  ${alias}.manual_at IS NULL AND ${UNCLAIMED} AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
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

/** Throws not_found. */
export const retrieveReplay: Operation<'retrieveReplay'> = async ({ database }, key) => ({
  replay: Replay.fromPartial(await findReplay(database, key)),
})

/** Ends a replay; one that has ended stays as it is. What it enqueued is attempted all the same. Throws not_found. */
export const cancelReplay: Operation<'cancelReplay'> = ({ database, actor }, key) =>
  database.transaction(async (tx) => {
    const { accountId, endpointId, replayId } = key
    const cancelled = await cancel(tx, accountId, endpointId, replayId)
    const replay = Replay.fromPartial(await findReplay(tx, key))
    const action = 'webhook_endpoint.replay_cancelled'
    if (cancelled.length > 0) recordAudit(tx, actor, { accountId, action, targetId: endpointId })
    return { replay }
  })

const recovery = statement<{ since: string; remaining: number; remainingCapped: boolean }>(
  'recovery-of-endpoint',
)`
  SELECT min(since) AS since, bool_or(matched_capped) AS "remainingCapped",
    sum(greatest(0, matched - enqueued))::int
      + (SELECT count(*)::int FROM (SELECT FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL LIMIT 1000) manual)
      AS remaining
  FROM replays WHERE endpoint_id = $1 AND state = 'running' AND recovers HAVING count(*) > 0`

export const recoveryOf = async (database: Database, endpointId: number): Promise<Recovery | undefined> =>
  (await recovery(database, endpointId))[0]

const PRUNED = 1000

const deleteOld = statement('delete-old-replays')`
  DELETE FROM replays WHERE id = ANY (ARRAY (
    SELECT id FROM replays WHERE ended_at < now() - $1::bigint * interval '1 ms'
    ORDER BY ended_at LIMIT ${PRUNED} FOR UPDATE SKIP LOCKED
  )) RETURNING id`

export const oldReplays = (database: Database, keptMs: number) => ({
  batch: async (): Promise<Pruned> => {
    const { length: rows } = await deleteOld(database, keptMs)
    return { rows, more: rows === PRUNED }
  },
})
