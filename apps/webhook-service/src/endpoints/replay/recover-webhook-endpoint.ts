import { differences, isInvalidTime, recordAudit, statement } from '@leadwire/service-kit'
import { isOneOf, validate } from '../../arguments'
import { below, LAST, NEWEST_FIRST, readInOrder } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { lockReceiving } from '../endpoint-row'
import { numbersOf } from './replay-webhook-endpoint'
import { IS_WANTED, isWaiting, STATUSES } from './replays'

const SINCE_VIOLATION = 'must be an instant, such as 2026-01-31T09:30:00Z'
const MAX_COUNT = 10_000

/** SQL: a replay that runs sends the delivery d of the event e, and has not reached it. */
const IS_REQUESTED = `EXISTS (
  SELECT FROM replays o WHERE o.endpoint_id = $1 AND o.state = 'running' AND NOT o.dry_run AND d.status = ANY (o.statuses)
    AND e.number > o.replayed_to AND e.number <= o.until_number AND e.created_at >= o.since AND e.created_at < o.before
    AND (o.types IS NULL OR e.type = ANY (o.types)) AND d.updated_at <= o.created_at
)`

const countNewest = statement<{ count: number; capped: boolean }>('count-to-recover')`
  SELECT least(sum(count), ${MAX_COUNT})::int AS count, bool_or(capped) OR sum(count) > ${MAX_COUNT} AS capped
  FROM (
    SELECT events, leads, filter, NULL::text[] AS types, $3::timestamptz AS since, 'infinity'::timestamptz AS before
    FROM endpoints WHERE id = $1
  ) r CROSS JOIN unnest($2::text[]) AS s (status) CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE ${isWaiting('d')} AND ${IS_WANTED} AND NOT ${IS_REQUESTED}) AS count,
      count(*) = ${MAX_COUNT} AND bool_and(d.created_at >= r.since) AS capped
    FROM (
      SELECT * FROM deliveries WHERE ${below('$1', 's.status', LAST)} ${NEWEST_FIRST} LIMIT ${MAX_COUNT}
    ) d CROSS JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id AND number IS NOT NULL OFFSET 0) e
  ) counted`

const insert = statement('insert-recovery')`
  INSERT INTO replays (account_id, endpoint_id, recovers, replayed_to, until_number, counted_to, since, statuses, matched, matched_capped)
  VALUES ($1, $2, true, $3, $4, $4, $5, $6, $7, $8)`

/**
 * Requests a replay of what has a delivery, since an instant: one manual attempt of each delivery of a state, which `runReplay` makes.
 * Answers with how many there are among the newest 10,000 of each status. Throws invalid, not_found, and conflict for a disabled endpoint.
 */
export const recoverWebhookEndpoint: Operation<'recoverWebhookEndpoint'> = async (
  { database, actor, wake },
  request,
) => {
  const { accountId, endpointId, since, state = 'exhausted' } = request
  validate({
    since: !Number.isNaN(Date.parse(since)) || SINCE_VIOLATION,
    state: isOneOf(Object.keys(STATUSES), state),
  })
  const statuses = STATUSES[state]!.filter((status) => status !== 'missing')
  try {
    const counted = await database.transaction(async (tx) => {
      await lockReceiving(tx, { accountId, endpointId })
      const numbers = await numbersOf(tx, { accountId, from: since })
      readInOrder(tx)
      const [found] = await countNewest(tx, endpointId, statuses, since)
      const { count, capped } = found!
      if (count > 0 || capped)
        insert.send(tx, accountId, endpointId, ...numbers, since, statuses, count, capped)
      const changes = differences({}, { since, state: request.state })
      const action = 'webhook_endpoint.recovered'
      recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
      return { recovered: count, recoveredCapped: capped }
    })
    wake('replays')
    return counted
  } catch (error) {
    if (isInvalidTime(error)) validate({ since: SINCE_VIOLATION })
    throw error
  }
}
