import { differences, recordAudit, statement } from '@leadwire/service-kit'
import { HIGHEST_ID, isBelow, NEWEST_FIRST, readInOrder } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { lockReceiving } from '../endpoint-row'
import { findNumberRange } from './replay-webhook-endpoint'
import { findStatuses, IS_WANTED, isWaiting } from './replays'

const MAX_COUNT = 10_000

/** SQL: whether a running replay will still send the delivery `d` of the event `e`. */
const IS_REQUESTED = `EXISTS (
  SELECT FROM replays o
  WHERE o.endpoint_id = :endpointId AND o.state = 'running' AND NOT o.dry_run AND d.status = ANY (o.statuses)
    AND e.number > o.replayed_to AND e.number <= o.until_number
    AND e.created_at >= o.since AND e.created_at < o.before
    AND (o.types IS NULL OR e.type = ANY (o.types)) AND d.updated_at <= o.created_at
)`

const IS_COUNTED = `${isWaiting('d', ':claimMs::int')} AND ${IS_WANTED} AND NOT ${IS_REQUESTED}`

const countNewest = statement<{ count: number; capped: boolean }>('count-to-recover')`
  SELECT least(sum(count), ${MAX_COUNT})::int AS count, bool_or(capped) OR sum(count) > ${MAX_COUNT} AS capped
  FROM (
    SELECT events, leads, filter, NULL::text[] AS types, :since::timestamptz AS since,
      'infinity'::timestamptz AS before
    FROM endpoints WHERE id = :endpointId
  ) r CROSS JOIN unnest(:statuses::text[]) AS s (status) CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE ${IS_COUNTED}) AS count,
      count(*) = ${MAX_COUNT} AND bool_and(d.created_at >= r.since) AS capped
    FROM (
      SELECT * FROM deliveries
      WHERE ${isBelow(':endpointId', 's.status', HIGHEST_ID)} ${NEWEST_FIRST} LIMIT ${MAX_COUNT}
    ) d CROSS JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id AND number IS NOT NULL OFFSET 0) e
  ) counted`

// The deliveries are counted before this statement, so `counted_to` is already at the end of the range.
const insert = statement('insert-recovery')`
  INSERT INTO replays (account_id, endpoint_id, recovers, replayed_to, until_number, counted_to, since, statuses,
    matched, matched_capped)
  VALUES (:accountId, :endpointId, true, :after, :until, :until, :since, :statuses, :count, :capped)`

/**
 * Requests one manual attempt for each existing delivery in `state` that was created after `since`.
 * `runReplay` enqueues the attempts. Returns how many such deliveries are among the newest 10,000 of each
 * status. Throws `not_found`. Throws `conflict` if the endpoint is disabled.
 */
export const recoverWebhookEndpoint: Operation<'recoverWebhookEndpoint'> = async (
  { database, actor, wake, claimMs },
  request,
) => {
  const { accountId, endpointId, since, state = 'exhausted' } = request
  const statuses = findStatuses(state).filter((status) => status !== 'missing')
  const counted = await database.transaction(async (tx) => {
    await lockReceiving(tx, { accountId, endpointId })
    const { after, until } = await findNumberRange(tx, { accountId, from: since })
    readInOrder(tx)
    const [found] = await countNewest(tx, { endpointId, statuses, since, claimMs: claimMs.webhooks })
    const { count, capped } = found!
    if (count > 0 || capped)
      insert.send(tx, { accountId, endpointId, after, until, since, statuses, count, capped })
    const changes = differences({}, { since, state: request.state })
    const action = 'webhook_endpoint.recovered'
    recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
    return { recovered: count, recoveredCapped: capped }
  })
  wake('replays')
  return counted
}
