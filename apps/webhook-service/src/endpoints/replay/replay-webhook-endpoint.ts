import { isInstant, Replay, type ReplayWebhookEndpointRequest } from '@leadwire/contracts'
import {
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import { isOneOf, validate } from '../../arguments'
import { firstCreatedSince } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { lockReceiving, typesViolation } from '../endpoint-row'
import { REPLAY_COLUMNS, STATUSES } from './replays'

// Events are stored in about the order of their times, but for those that an outage delayed.
const DISORDER_MS = 24 * 3_600_000

const lastNumber = statement<{ last: number }>('last-number')`
  SELECT coalesce((SELECT last FROM public.event_counters WHERE account_id = $1), 0) AS last`

const firstSince = statement<{ first: number }>('first-event-since')`
  ${firstCreatedSince('number', 'events', 'account_id = $2 AND number IS NOT NULL')}`

const insert = statement('insert-replay')`
  INSERT INTO replays (account_id, endpoint_id, counted_to, replayed_to, until_number, since, before, types, statuses, dry_run)
  VALUES ($1, $2, $3, $3, $4, coalesce($5::timestamptz, '-infinity'), coalesce($6::timestamptz, 'infinity'), $7, $8, $9)
  ON CONFLICT (endpoint_id) WHERE state = 'running' AND NOT recovers DO NOTHING
  RETURNING ${REPLAY_COLUMNS}`

const running = statement<{ id: number }>('running-replay')`
  SELECT id FROM replays WHERE endpoint_id = $1 AND state = 'running' AND NOT recovers`

const instantViolation = (instant: string | undefined) =>
  instant === undefined || isInstant(instant) || 'must be an instant, such as 2026-01-31T09:30:00Z'

const isBefore = (from = '', to = '') => !(Date.parse(from) >= Date.parse(to))

type Range = Omit<ReplayWebhookEndpointRequest, 'endpointId' | 'types' | 'state' | 'dryRun'>

/** The numbers between which the events are: behind the first, up to the second. Nothing that is stored later. */
export const numbersOf = async (
  tx: OpenTransaction,
  range: Range,
): Promise<[after: number, until: number]> => {
  const { accountId, afterSequence = 0, untilSequence = Number.MAX_SAFE_INTEGER, from, to } = range
  const before = async (instant: string, marginMs: number) => {
    const [row] = await firstSince(tx, new Date(Date.parse(instant) + marginMs), accountId)
    return row!.first - 1
  }
  const [row] = await lastNumber(tx, accountId)
  const after = from === undefined ? 0 : await before(from, -DISORDER_MS)
  const until = to === undefined ? row!.last : await before(to, DISORDER_MS)
  return [Math.max(after, afterSequence), Math.min(until, untilSequence, row!.last)]
}

/**
 * Requests a replay of a range of the log, or its count; `runReplay` does both. Throws invalid, not_found, and conflict for a disabled
 * endpoint and while another replay of it runs.
 */
export const replayWebhookEndpoint: Operation<'replayWebhookEndpoint'> = async (
  { database, actor, wake },
  request,
) => {
  const { accountId, endpointId, afterSequence = 0, untilSequence, from, to, dryRun } = request
  const { state = 'undelivered' } = request
  const types = request.types?.types
  validate({
    after_sequence:
      (Number.isSafeInteger(afterSequence) && afterSequence >= 0) || 'must be a number of the log, or 0',
    until_sequence:
      untilSequence === undefined || untilSequence > afterSequence || 'must be greater than after_sequence',
    from: instantViolation(from),
    to: isBefore(from, to) ? instantViolation(to) : 'must be later than from',
    types: typesViolation(types),
    state: isOneOf(Object.keys(STATUSES), state),
  })
  const replay = await database.transaction(async (tx) => {
    await lockReceiving(tx, { accountId, endpointId })
    const values = [
      ...(await numbersOf(tx, request)),
      from ?? null,
      to ?? null,
      types ?? null,
      STATUSES[state],
    ]
    const [row] = await insert(tx, accountId, endpointId, ...values, dryRun)
    if (!row) {
      const [other] = await running(tx, endpointId)
      const which = other ? `Replay ${other.id}` : 'A replay'
      throw new ServiceError(
        'conflict',
        `${which} of this endpoint is running. Cancel it, or wait for its end.`,
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
