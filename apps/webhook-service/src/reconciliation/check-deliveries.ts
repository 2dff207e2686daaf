import { Unexplained } from '@leadwire/contracts'
import { isReceiving } from '../delivery-sql'
import type { Operation } from '../operation'
import { statement } from '../statement'

/** How long an attempt may be overdue while no attempt of its endpoint is in flight. */
const OVERDUE_MS = 120_000
/** How much longer than the schedule's longest pause a delivery may wait: an attempt ends before its pause starts. */
const BEYOND_MS = 60_000
/** How long the deliveries of an enabled endpoint may stay held while nothing moves them. */
const OUT_OF_SYNC_MS = 1_800_000
/** Endpoints of one call, and deliveries of each, in the order of claims: a valid claim is among them. */
const ENDPOINTS = 1000
const PER_ENDPOINT = 50

type Row = { lastEndpointId: number } & (Unexplained | { kind: null })

/** The first open deliveries of the endpoint `p`. */
const open = (condition: string, order: string, limit: number) => `
  SELECT account_id, lead_reference, event_id, id, next_attempt_at, claimed_until FROM deliveries d
  WHERE d.endpoint_id = p.id AND ${condition} ORDER BY d.next_attempt_at ${order} LIMIT ${limit}`

// While an attempt of the endpoint is in flight, what is due there waits for it, perhaps for long.
const findViolations = statement<Row>('check-deliveries')`
  WITH page AS MATERIALIZED (
    SELECT id, updated_at FROM endpoints p
    WHERE id > $1 AND account_id = coalesce($2::bigint, account_id) AND ${isReceiving('p')} ORDER BY id LIMIT ${ENDPOINTS}
  )
  SELECT p.id AS "lastEndpointId", kind, detail, account_id AS "accountId", lead_reference AS "leadReference",
    event_id AS "eventId", found.id AS "deliveryId", next_attempt_at AS since
  FROM page p LEFT JOIN LATERAL (
    SELECT 'delivery_overdue' AS kind, CASE
      WHEN claimed_too_long THEN 'It is claimed for longer than an attempt takes.'
      ELSE 'It is due, and nothing of its endpoint is attempted.' END AS detail, overdue.*
    FROM (
      SELECT *, claimed_until > now() + $3::bigint * interval '1 ms' AS claimed_too_long,
        bool_or(claimed_until BETWEEN now() AND now() + $3::bigint * interval '1 ms') OVER () AS busy
      FROM (${open(`d.status = 'pending' AND d.next_attempt_at < $4 AND p.updated_at < $4`, 'ASC', PER_ENDPOINT)}) due
    ) overdue
    WHERE claimed_too_long OR busy IS NOT TRUE
    UNION ALL
    SELECT 'delivery_held', 'It is held, and its endpoint is enabled.', held.*, NULL, NULL FROM (
      ${open(
        `d.status = 'held' AND d.next_attempt_at IS NOT NULL AND p.updated_at < $5 AND NOT EXISTS (
        SELECT FROM endpoint_syncs s WHERE s.endpoint_id = p.id AND s.queued_at >= $5)`,
        'ASC',
        1,
      )}
    ) held
    UNION ALL
    SELECT 'delivery_beyond_schedule', 'It is due later than the schedule can say.', beyond.*, NULL, NULL FROM (
      ${open(`d.status = 'pending' AND d.next_attempt_at > $6`, 'DESC', 1)}
    ) beyond
  ) found ON true
  ORDER BY 1`

/**
 * Open deliveries of enabled endpoints that will not be attempted: overdue while no attempt of their endpoint is in flight, due
 * later than the schedule allows, or held. The first of an endpoint stand for all of them.
 */
export const checkDeliveries: Operation<'checkDeliveries'> = async (
  { database, notifications, clock, longestPauseMs, claimMs: claims },
  { notifications: areNotifications, afterEndpointId = 0, accountId },
) => {
  const claimMs = claims[areNotifications ? 'notifications' : 'webhooks']
  const at = (ms: number) => new Date(clock.now().getTime() + ms)
  const times = [at(-claimMs - OVERDUE_MS), at(-OUT_OF_SYNC_MS), at(longestPauseMs + claimMs + BEYOND_MS)]
  const tables = areNotifications ? notifications : database
  const rows = await findViolations(tables, afterEndpointId, accountId ?? null, claimMs, ...times)
  const isMore = new Set(rows.map(({ lastEndpointId }) => lastEndpointId)).size === ENDPOINTS
  return {
    violations: rows.flatMap((row) => (row.kind === null ? [] : Unexplained.fromPartial(row))),
    lastEndpointId: isMore ? rows.at(-1)!.lastEndpointId : undefined,
  }
}
