import { Replay, type ReplayWebhookEndpointRequest } from '@leadwire/contracts'
import {
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import { addMilliseconds } from '../../clock'
import { findFirstCreatedSince } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { lockReceiving } from '../endpoint-row'
import { findStatuses, REPLAY_COLUMNS } from './replays'

/**
 * The margin in milliseconds for searches by time. An outage may delay an event, so events are stored only
 * roughly in the order of their times.
 */
const DISORDER_MS = 24 * 3_600_000

const readLastNumber = statement<{ last: number }>('last-number')`
  SELECT coalesce((SELECT last FROM public.event_counters WHERE account_id = $1), 0) AS last`

const findFirstSince = statement<{ first: number }>('first-event-since')`
  ${findFirstCreatedSince('number', 'events', 'account_id = :accountId AND number IS NOT NULL')}`

const insert = statement('insert-replay')`
  INSERT INTO replays (account_id, endpoint_id, counted_to, replayed_to, until_number, since, before, types, statuses,
    dry_run)
  VALUES (:accountId, :endpointId, :after, :after, :until, coalesce(:from::timestamptz, '-infinity'),
    coalesce(:to::timestamptz, 'infinity'), :types, :statuses, :dryRun)
  ON CONFLICT (endpoint_id) WHERE state = 'running' AND NOT recovers DO NOTHING
  RETURNING ${REPLAY_COLUMNS}`

const findRunning = statement<{ id: number }>('running-replay')`
  SELECT id FROM replays WHERE endpoint_id = $1 AND state = 'running' AND NOT recovers`

type Range = Omit<ReplayWebhookEndpointRequest, 'endpointId' | 'types' | 'state' | 'dryRun'>

/**
 * Finds the numbers of the events in a range: higher than `after` and at most `until`. The range may be wider
 * than requested, because events are not stored exactly in the order of their times. The range never ends
 * after the newest event.
 */
export const findNumberRange = async (
  tx: OpenTransaction,
  range: Range,
): Promise<{ after: number; until: number }> => {
  const { accountId, afterSequence = 0, untilSequence = Number.MAX_SAFE_INTEGER, from, to } = range
  const findNumberBefore = async (instant: string, marginMs: number) => {
    const [row] = await findFirstSince(tx, { since: addMilliseconds(instant, marginMs), accountId })
    return row!.first - 1
  }
  const [row] = await readLastNumber(tx, accountId)
  const after = from === undefined ? 0 : await findNumberBefore(from, -DISORDER_MS)
  const until = to === undefined ? row!.last : await findNumberBefore(to, DISORDER_MS)
  return { after: Math.max(after, afterSequence), until: Math.min(until, untilSequence, row!.last) }
}

/**
 * Requests a replay of a range of the log, or with `dryRun` only a count of its events. `runReplay` does the
 * work. Throws `not_found`. Throws `conflict` if the endpoint is disabled, or if another replay of the
 * endpoint is running.
 */
export const replayWebhookEndpoint: Operation<'replayWebhookEndpoint'> = async (
  { database, actor, wake },
  request,
) => {
  const { accountId, endpointId, from, to, dryRun } = request
  const { state = 'undelivered' } = request
  const types = request.types?.types
  const replay = await database.transaction(async (tx) => {
    await lockReceiving(tx, { accountId, endpointId })
    const { after, until } = await findNumberRange(tx, request)
    const [row] = await insert(tx, {
      accountId,
      endpointId,
      after,
      until,
      from: from ?? null,
      to: to ?? null,
      types: types ?? null,
      statuses: findStatuses(state),
      dryRun,
    })
    if (!row) {
      const [other] = await findRunning(tx, endpointId)
      const which = other ? `Replay ${other.id}` : 'A replay'
      throw new ServiceError(
        'conflict',
        `${which} of this endpoint is running. Cancel it, or wait until it has ended.`,
      )
    }
    const { afterSequence: after_sequence, untilSequence: until_sequence } = request
    const changes = differences({}, { after_sequence, until_sequence, from, to, types, state })
    const action = 'webhook_endpoint.replayed'
    if (!dryRun) recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
    return Replay.fromPartial(row)
  })
  wake('replays')
  return { replay }
}
