import { CheckResponse, isUuid, type NextBatch, Unexplained } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import { isReceiving, STATUSES, shownStatus, UNCLAIMED } from '../delivery-sql'
import type { Dependencies, Operation } from '../operation'

/** Events, or endpoints with open deliveries, that one call reads. */
const BATCH = 1000
/** How long an attempt may be overdue while no attempt of its endpoint is in flight. */
const OVERDUE_MS = 120_000
/** How much longer than the schedule's longest pause a delivery may wait: an attempt ends before its pause starts. */
const BEYOND_MS = 60_000
/** How long the deliveries of an enabled endpoint may stay held while nothing moves them. */
const OUT_OF_SYNC_MS = 1_800_000
/** Deliveries of an endpoint, in the order of claims: a valid claim is among them. */
const PER_ENDPOINT = 50

interface EventRow extends Record<(typeof COUNTS)[number], number> {
  id: string
  accountId: number
  leadReference: string | null
  createdAt: string
  /** How many deliveries the event was stored with; null where that was not recorded. */
  fanOut: number | null
  found: number
}

const COUNTS = ['inFlight', 'pending', 'held', 'delivered', 'exhausted', 'cancelled'] as const

// Counted event by event: without hash joins PostgreSQL would compare each event with the counts of all others.
const countOf = (condition: string) => `
  WITH wanted AS MATERIALIZED (SELECT id, account_id, lead_reference, created_at, fan_out FROM events WHERE ${condition})
  SELECT id, account_id AS "accountId", lead_reference AS "leadReference", created_at AS "createdAt",
    fan_out AS "fanOut", counted.*
  FROM wanted CROSS JOIN LATERAL (
    SELECT count(*)::int AS found, count(*) FILTER (WHERE state = 'pending' AND NOT ${UNCLAIMED})::int AS "inFlight",
      ${STATUSES.map((status) => `count(*) FILTER (WHERE state = '${status}')::int AS ${status}`)}
    FROM (
      SELECT claimed_until, ${shownStatus('d.status', 'p')} AS state
      FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id WHERE d.event_id = wanted.id
    ) of_event
  ) counted ORDER BY id`

const eventsById = statement<EventRow>('count-deliveries')`${countOf('id = ANY ($1::uuid[])')}`
const nextEvents = statement<EventRow>('count-next-deliveries')`
  ${countOf(`id > $1 ORDER BY id LIMIT ${BATCH}`)}`

/** One statement writes an event and its deliveries. Deliveries are only removed when they are old. */
const checked = (rows: EventRow[], keptMs: number) => {
  // By the machine's clock, with a minute for its difference from the database's.
  const keptSince = Number.isFinite(keptMs) ? new Date(Date.now() - keptMs + 60_000).toISOString() : undefined
  const findings = rows
    .filter(({ createdAt, fanOut, found }) => {
      const isOld = keptSince !== undefined && createdAt < keptSince
      return fanOut !== null && (isOld ? found > fanOut : found !== fanOut)
    })
    .map(({ id: eventId, accountId, leadReference, createdAt: since, fanOut, found }) =>
      Unexplained.fromPartial({
        ...{ kind: 'deliveries_missing', accountId, eventId, since },
        leadReference: leadReference ?? undefined,
        detail: `The event was stored with ${fanOut} deliveries and has ${found}.`,
      }),
    )
  const counts = COUNTS.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])
  return { counts: Object.fromEntries(counts), findings, keptSince }
}

/** Which of these events of leads or notifications are stored, how their deliveries stand, and what is wrong. */
const checkEvents = async ({ database, notifications, keptMs }: Dependencies, eventIds: string[]) => {
  validate({ event_ids: eventIds.every(isUuid) || 'must be UUIDs' })
  const found = await Promise.all([database, notifications].map((tables) => eventsById(tables, eventIds)))
  const rows = found.flat()
  return CheckResponse.fromPartial({ storedEventIds: rows.map(({ id }) => id), ...checked(rows, keptMs) })
}

type DeliveryRow = { status: string; endpointId: number } & (Unexplained | { kind: null })

/** The first open deliveries of the endpoint `p` that have the status `o.status`. */
const first = (condition: string, order: string, limit: number) => `
  SELECT account_id, lead_reference, event_id, id, next_attempt_at, claimed_until FROM deliveries d
  WHERE d.status = o.status AND d.endpoint_id = p.id AND d.next_attempt_at IS NOT NULL AND ${condition}
  ORDER BY d.next_attempt_at ${order} LIMIT ${limit}`

// A loose index scan: one probe for each endpoint with open deliveries of a status. OFFSET 0 keeps PostgreSQL from reading all endpoints.
// While an attempt of the endpoint is in flight, what is due there waits for it, perhaps for long.
const nextDeliveries = statement<DeliveryRow>('check-deliveries')`
  WITH RECURSIVE open AS (
    SELECT $1::text AS status, $2::bigint AS endpoint_id
    UNION ALL
    SELECT following.* FROM open before CROSS JOIN LATERAL (
      SELECT d.status, d.endpoint_id FROM deliveries d
      WHERE d.next_attempt_at IS NOT NULL AND (d.status, d.endpoint_id) > (before.status, before.endpoint_id)
      ORDER BY d.status, d.endpoint_id LIMIT 1
    ) following
  ), page AS MATERIALIZED (SELECT * FROM open OFFSET 1 LIMIT ${BATCH})
  SELECT o.status, o.endpoint_id AS "endpointId", kind, detail, found.account_id AS "accountId",
    lead_reference AS "leadReference", event_id AS "eventId", found.id AS "deliveryId", next_attempt_at AS since
  FROM page o
  LEFT JOIN LATERAL (
    SELECT * FROM endpoints p
    WHERE id = o.endpoint_id AND ${isReceiving('p')} AND account_id = coalesce($3::bigint, account_id) OFFSET 0
  ) p ON true
  LEFT JOIN LATERAL (
    SELECT 'delivery_overdue' AS kind, 'It is due, and is not attempted.' AS detail, overdue.*
    FROM (
      SELECT *, bool_or(claimed_until BETWEEN now() AND now() + $4::bigint * interval '1 ms') OVER () AS busy
      FROM (${first(`o.status = 'pending' AND d.next_attempt_at < $5 AND p.updated_at < $5`, 'ASC', PER_ENDPOINT)}) due
    ) overdue
    WHERE busy IS NOT TRUE OR claimed_until > now() + $4::bigint * interval '1 ms'
    UNION ALL
    SELECT 'delivery_held', 'It is held, and its endpoint is enabled.', held.*, NULL FROM (
      ${first(
        `o.status = 'held' AND p.updated_at < $6
        AND NOT EXISTS (SELECT FROM endpoint_syncs s WHERE s.endpoint_id = p.id AND s.queued_at >= $6)`,
        'ASC',
        1,
      )}
    ) held
    UNION ALL
    SELECT 'delivery_beyond_schedule', 'It is due later than the schedule can say.', beyond.*, NULL FROM (
      ${first(`o.status = 'pending' AND d.next_attempt_at > $7`, 'DESC', 1)}
    ) beyond
  ) found ON true
  ORDER BY 1, 2`

/**
 * Checks the next events, of which those of an account count, or the open deliveries of the next endpoints. Of these some will not be
 * attempted though their endpoint is enabled: overdue while no attempt of the endpoint is in flight, due later than the schedule allows,
 * or held. The first of an endpoint stand for all of them.
 */
const checkNext = async (
  { database, notifications, clock, keptMs, longestPauseMs, claimMs: claims }: Dependencies,
  { what, notifications: areNotifications, accountId, after }: NextBatch,
) => {
  const tables = areNotifications ? notifications : database
  if (what === 'events') {
    validate({ after: after === '' || isUuid(after) || 'must be a UUID' })
    const found = await nextEvents(tables, after || '00000000-0000-0000-0000-000000000000')
    const ofAccount = found.filter((row) => accountId === undefined || row.accountId === accountId)
    return CheckResponse.fromPartial({ ...checked(ofAccount, keptMs), after: found.at(-1)?.id })
  }
  const [, status = '', endpointId = 0] = /^(held|pending) (\d{1,15})$/.exec(after) ?? []
  const claimMs = claims[areNotifications ? 'notifications' : 'webhooks']
  const at = (ms: number) => new Date(clock.now().getTime() + ms)
  const times = [at(-claimMs - OVERDUE_MS), at(-OUT_OF_SYNC_MS), at(longestPauseMs + claimMs + BEYOND_MS)]
  const rows = await nextDeliveries(tables, status, endpointId, accountId ?? null, claimMs, ...times)
  const last = rows.at(-1)
  return CheckResponse.fromPartial({
    findings: rows.flatMap((row) => (row.kind === null ? [] : Unexplained.fromPartial(row))),
    after: last && `${last.status} ${last.endpointId}`,
  })
}

/** Checks these events, or the next batch. Throws invalid. */
export const check: Operation<'check'> = (dependencies, { eventIds, next }) =>
  next ? checkNext(dependencies, next) : checkEvents(dependencies, eventIds)
