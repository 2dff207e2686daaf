import { DeliveryViolation } from '@leadwire/contracts'
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
const MAX_BEYOND = 100

interface Row {
  lastEndpointId: number
  /** Null: nothing of the endpoint is found. */
  id: number | null
  accountId: number
  leadReference: string | null
  eventId: string
  endpointId: number
  dueAt: string
  claimed: boolean | null
  claimedTooLong: boolean | null
}

// A loose index scan: one probe for each endpoint with open deliveries of the status, however many these are.
const endpointsWith = (status: 'pending' | 'held') => `
  (SELECT endpoint_id FROM deliveries
   WHERE status = '${status}' AND next_attempt_at IS NOT NULL AND endpoint_id > $1
   ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT following.endpoint_id FROM ${status} before CROSS JOIN LATERAL (
    SELECT endpoint_id FROM deliveries
    WHERE status = '${status}' AND next_attempt_at IS NOT NULL AND endpoint_id > before.endpoint_id
    ORDER BY endpoint_id LIMIT 1
  ) following`

const COLUMNS = `d.id, d.account_id AS "accountId", d.lead_reference AS "leadReference", d.event_id AS "eventId",
  d.endpoint_id AS "endpointId", d.next_attempt_at AS "dueAt"`

const open = (
  name: string,
  status: 'pending' | 'held',
  condition: string,
  limit: number,
  ofEndpoint = '',
) => statement<Row>(name)`
  WITH RECURSIVE ${status} AS (${endpointsWith(status)}), checked AS MATERIALIZED (
    SELECT endpoint_id FROM ${status} LIMIT ${ENDPOINTS}
  )
  SELECT checked.endpoint_id AS "lastEndpointId", d.* FROM checked LEFT JOIN LATERAL (
    SELECT ${COLUMNS}, d.claimed_until > now() AS claimed,
      d.claimed_until > now() + $3::bigint * interval '1 ms' AS "claimedTooLong"
    FROM endpoints p CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.endpoint_id = p.id AND d.status = '${status}' AND ${condition}
      ORDER BY d.next_attempt_at LIMIT ${limit}
    ) d
    WHERE p.id = checked.endpoint_id AND p.enabled AND p.deleted_at IS NULL AND p.updated_at < $2 ${ofEndpoint}
  ) d ON true
  ORDER BY 1`

const findOverdue = open('check-overdue', 'pending', 'd.next_attempt_at < $2', PER_ENDPOINT)
const findHeld = open(
  'check-held',
  'held',
  'd.next_attempt_at IS NOT NULL',
  1,
  'AND NOT EXISTS (SELECT FROM endpoint_syncs s WHERE s.endpoint_id = p.id AND s.queued_at >= $2)',
)

const findBeyondSchedule = statement<Row>('check-beyond-schedule')`
  SELECT ${COLUMNS} FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id
  WHERE d.status = 'pending' AND d.next_attempt_at > $1 AND p.enabled AND p.deleted_at IS NULL
  ORDER BY d.next_attempt_at DESC LIMIT ${MAX_BEYOND}`

const violation = (kind: string, detail: string, row: Row): DeliveryViolation =>
  DeliveryViolation.fromPartial({
    ...{ kind, detail, accountId: row.accountId, eventId: row.eventId },
    ...{ deliveryId: row.id!, since: row.dueAt },
    ...(row.leadReference !== null && { leadReference: row.leadReference }),
  })

/** While an attempt of the endpoint is in flight, what is due there waits for it, perhaps for long. */
const overdue = (rows: Row[]): DeliveryViolation[] => {
  const found = rows.filter(({ id }) => id !== null)
  const inFlight = found.filter((row) => row.claimed && !row.claimedTooLong)
  const busy = new Set(inFlight.map(({ endpointId }) => endpointId))
  return found.flatMap((row) => {
    if (row.claimedTooLong)
      return [violation('delivery_overdue', 'It is claimed for longer than an attempt takes.', row)]
    if (busy.has(row.endpointId)) return []
    return [violation('delivery_overdue', 'It is due, and nothing of its endpoint is attempted.', row)]
  })
}

/** The last endpoint that all results reached; undefined when none has more. */
const lastOf = (results: Row[][]): number | undefined => {
  const lasts = results
    .filter((rows) => new Set(rows.map(({ lastEndpointId }) => lastEndpointId)).size === ENDPOINTS)
    .map((rows) => rows.at(-1)!.lastEndpointId)
  return lasts.length > 0 ? Math.min(...lasts) : undefined
}

/**
 * Open deliveries of enabled endpoints that will not be attempted: overdue while no attempt of their endpoint is in flight, due
 * later than the schedule allows, or held. The first fifty of an endpoint stand for all of them.
 */
export const checkDeliveries: Operation<'checkDeliveries'> = async (
  { database, notifications, clock, longestPauseMs, claimMs: claims },
  { notifications: areNotifications, afterEndpointId = 0, accountId },
) => {
  const claimMs = claims[areNotifications ? 'notifications' : 'webhooks']
  const at = (ms: number) => new Date(clock.now().getTime() + ms)
  const tables = areNotifications ? notifications : database
  const [due, held] = await Promise.all([
    findOverdue(tables, afterEndpointId, at(-claimMs - OVERDUE_MS), claimMs),
    findHeld(tables, afterEndpointId, at(-OUT_OF_SYNC_MS), claimMs),
  ])
  // Not paged by endpoint: in the first call alone.
  const beyond =
    afterEndpointId === 0 ? await findBeyondSchedule(tables, at(longestPauseMs + claimMs + BEYOND_MS)) : []
  const found = [
    ...overdue(due),
    ...held
      .filter(({ id }) => id !== null)
      .map((row) => violation('delivery_held', 'It is held, and its endpoint is enabled.', row)),
    ...beyond.map((row) =>
      violation('delivery_beyond_schedule', 'It is due later than the schedule can say.', row),
    ),
  ]
  return {
    violations: found.filter((each) => accountId === undefined || each.accountId === accountId),
    lastEndpointId: lastOf([due, held]),
  }
}
