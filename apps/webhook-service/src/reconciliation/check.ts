import { CheckResponse, type NextBatch, Unexplained } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'
import { computeLatestAttempt } from '../delivery/claim/reset-future-attempts'
import { isReceiving, isUnclaimed, renderStatus, STATUSES } from '../delivery-sql'
import type { Dependencies, Operation } from '../operation'

/** How many events, or endpoints with open deliveries, one call checks. */
const BATCH = 1000
/** How long an attempt may be overdue while no attempt of its endpoint is in flight. */
const OVERDUE_MS = 120_000
/** How long the deliveries of an enabled endpoint may stay held if no loop updates them. */
const OUT_OF_SYNC_MS = 1_800_000
/** How long a stored event may wait for its deliveries. */
const FAN_OUT_WITHIN_MS = 30_000
/**
 * How many deliveries of an endpoint are checked for a valid claim, starting with the delivery that has been
 * due the longest.
 */
const PER_ENDPOINT = 50

interface EventRow extends Record<(typeof COUNTS)[number], number> {
  id: string
  accountId: number
  leadReference: string | null
  createdAt: string
  /** How many deliveries the fan-out created. Null before the fan-out, or if this number was not recorded. */
  fanOut: number | null
  /** How many deliveries the event has. */
  found: number
}

const COUNTS = ['inFlight', 'pending', 'held', 'delivered', 'exhausted', 'cancelled'] as const

/**
 * SQL: the events that match a condition, with the numbers of their deliveries by status. `:claimMs` is the
 * length of a claim in milliseconds. The lateral join counts event by event. Hash joins are forbidden, so
 * with a grouped subquery PostgreSQL would compare each event with the counts of all other events.
 */
const selectCounts = (condition: string) => `
  WITH wanted AS MATERIALIZED (
    SELECT id, account_id, lead_reference, created_at, fan_out FROM events WHERE ${condition}
  )
  SELECT id, account_id AS "accountId", lead_reference AS "leadReference", created_at AS "createdAt",
    fan_out AS "fanOut", counted.*
  FROM wanted CROSS JOIN LATERAL (
    SELECT count(*)::int AS found,
      count(*) FILTER (WHERE state = 'pending' AND NOT ${isUnclaimed(':claimMs::int')})::int AS "inFlight",
      ${STATUSES.map((status) => `count(*) FILTER (WHERE state = '${status}')::int AS ${status}`)}
    FROM (
      SELECT claimed_until, ${renderStatus('d.status', 'p')} AS state
      FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id WHERE d.event_id = wanted.id
    ) of_event
  ) counted ORDER BY id`

const countById = statement<EventRow>('count-deliveries')`${selectCounts('id = ANY (:eventIds::uuid[])')}`
const countNext = statement<EventRow>('count-next-deliveries')`
  ${selectCounts(`id > :after ORDER BY id LIMIT ${BATCH}`)}`

/**
 * Adds up the counts of events. Finds events whose number of deliveries differs from the number that their
 * fan-out recorded. An old event may have fewer deliveries, because old deliveries are pruned.
 */
const compare = (rows: EventRow[], keptMs: number) => {
  // Uses the clock of this machine, with a margin of a minute for its difference from the database's clock.
  const keptSince = Number.isFinite(keptMs) ? new Date(Date.now() - keptMs + 60_000).toISOString() : undefined
  const findings = rows
    .filter(({ createdAt, fanOut, found }) => {
      const isOld = keptSince !== undefined && createdAt < keptSince
      return fanOut !== null && (isOld ? found > fanOut : found !== fanOut)
    })
    .map(({ id: eventId, accountId, leadReference, createdAt: since, fanOut, found }) =>
      Unexplained.fromPartial({
        kind: 'deliveries_missing',
        accountId,
        eventId,
        since,
        leadReference: leadReference ?? undefined,
        detail: `The fan-out recorded ${fanOut} deliveries of the event, but ${found} exist.`,
      }),
    )
  const counts = COUNTS.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])
  return { counts: Object.fromEntries(counts), findings, keptSince }
}

/**
 * Checks events and notifications by their ids. Returns which of them are stored, the numbers of their
 * deliveries by status, and the problems found.
 */
const checkEvents = async (
  { database, notifications, keptMs, claimMs }: Dependencies,
  eventIds: string[],
) => {
  const found = await Promise.all([
    countById(database, { eventIds, claimMs: claimMs.webhooks }),
    countById(notifications, { eventIds, claimMs: claimMs.notifications }),
  ])
  const rows = found.flat()
  return CheckResponse.fromPartial({ storedEventIds: rows.map(({ id }) => id), ...compare(rows, keptMs) })
}

const findOverdueFanOuts = statement<Unexplained>('find-overdue-fan-outs')`
  SELECT 'fan_out_overdue' AS kind, q.account_id AS "accountId", e.lead_reference AS "leadReference",
    q.event_id AS "eventId", q.queued_at AS since,
    'The event is stored, and its deliveries have not been created yet.' AS detail
  FROM fan_out_queue q JOIN events e ON e.id = q.event_id
  WHERE q.queued_at < now() - ${FAN_OUT_WITHIN_MS} * interval '1 ms'
    AND q.account_id = coalesce(:accountId::bigint, q.account_id)
  ORDER BY q.queued_at LIMIT ${BATCH}`

type DeliveryRow = { status: string; endpointId: number } & (Unexplained | { kind: null })

interface FirstRows {
  condition: string
  order: 'ASC' | 'DESC'
  limit: number
}

/**
 * SQL: the first open deliveries of the endpoint `p` that have the status `o.status` and match a condition.
 */
const selectFirst = ({ condition, order, limit }: FirstRows) => `
  SELECT account_id, lead_reference, event_id, id, next_attempt_at, claimed_until FROM deliveries d
  WHERE d.status = o.status AND d.endpoint_id = p.id AND d.next_attempt_at IS NOT NULL AND ${condition}
  ORDER BY d.next_attempt_at ${order} LIMIT ${limit}`

const FIRST_DUE = selectFirst({
  condition: `o.status = 'pending' AND d.next_attempt_at < :dueBefore AND p.updated_at < :dueBefore`,
  order: 'ASC',
  limit: PER_ENDPOINT,
})
const FIRST_HELD = selectFirst({
  condition: `o.status = 'held' AND p.updated_at < :heldBefore
    AND NOT EXISTS (SELECT FROM endpoint_syncs s WHERE s.endpoint_id = p.id AND s.queued_at >= :heldBefore)`,
  order: 'ASC',
  limit: 1,
})
const LAST_BEYOND = selectFirst({
  condition: `o.status = 'pending' AND d.next_attempt_at > :latest`,
  order: 'DESC',
  limit: 1,
})

// This is a loose index scan: one probe for each endpoint with open deliveries of a status. OFFSET 0 keeps
// PostgreSQL from reading all endpoints. While an attempt of the endpoint is in flight, its due deliveries
// may wait for that attempt, so these deliveries are not overdue.
const checkDeliveries = statement<DeliveryRow>('check-deliveries')`
  WITH RECURSIVE open AS (
    SELECT :status::text AS status, :endpointId::bigint AS endpoint_id
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
    WHERE id = o.endpoint_id AND ${isReceiving('p')} AND account_id = coalesce(:accountId::bigint, account_id) OFFSET 0
  ) p ON true
  LEFT JOIN LATERAL (
    SELECT 'delivery_overdue' AS kind, 'The delivery is due, and no attempt is made.' AS detail, overdue.*
    FROM (
      SELECT *, bool_or(claimed_until BETWEEN now() AND now() + :claimMs::bigint * interval '1 ms') OVER () AS busy
      FROM (${FIRST_DUE}) due
    ) overdue
    WHERE busy IS NOT TRUE OR claimed_until > now() + :claimMs::bigint * interval '1 ms'
    UNION ALL
    SELECT 'delivery_held', 'The delivery is held, but its endpoint is enabled.', held.*, NULL
    FROM (${FIRST_HELD}) held
    UNION ALL
    SELECT 'delivery_beyond_schedule', 'The delivery is due later than the schedule allows.', beyond.*, NULL
    FROM (${LAST_BEYOND}) beyond
  ) found ON true
  ORDER BY 1, 2`

const NO_EVENT = '00000000-0000-0000-0000-000000000000'

/** Checks the next batch of events. If `accountId` is given, counts only the events of this account. */
const checkNextEvents = async (
  tables: Database,
  {
    accountId,
    after,
    claimMs,
    keptMs,
  }: { accountId: number | undefined; after: string; claimMs: number; keptMs: number },
) => {
  const found = await countNext(tables, { after: after || NO_EVENT, claimMs })
  const counted = found.filter((row) => accountId === undefined || row.accountId === accountId)
  // Ends with the first batch that is not full. New events get higher ids, so a check that waits for an empty
  // batch would never end while events arrive.
  const isEnd = found.length < BATCH
  return CheckResponse.fromPartial({
    ...compare(counted, keptMs),
    after: isEnd ? undefined : found.at(-1)!.id,
  })
}

/**
 * Checks the next batch of events, or of endpoints with open deliveries. Finds deliveries of enabled
 * endpoints that will not be attempted: deliveries that are overdue while no attempt of the endpoint is in
 * flight, deliveries that are due later than the schedule allows, and deliveries that have stayed held for
 * longer than `OUT_OF_SYNC_MS`. Reports only the first such deliveries of each endpoint.
 */
const checkNext = async (
  dependencies: Dependencies,
  { what, notifications: areNotifications, accountId, after }: NextBatch,
) => {
  const { database, notifications, clock, keptMs, claimMs: claims } = dependencies
  const tables = areNotifications ? notifications : database
  const claimMs = claims[areNotifications ? 'notifications' : 'webhooks']
  if (what === 'events') return checkNextEvents(tables, { accountId, after, claimMs, keptMs })
  const [, status = '', endpointId = 0] = /^(held|pending) (\d{1,15})$/.exec(after) ?? []
  const before = (ms: number) => new Date(clock.now().getTime() - ms)
  const rows = await checkDeliveries(tables, {
    status,
    endpointId,
    accountId: accountId ?? null,
    claimMs,
    dueBefore: before(claimMs + OVERDUE_MS),
    heldBefore: before(OUT_OF_SYNC_MS),
    latest: computeLatestAttempt(dependencies, claimMs),
  })
  const isFirst = after === ''
  const fanOuts = isFirst ? await findOverdueFanOuts(tables, { accountId: accountId ?? null }) : []
  const last = rows.at(-1)
  return CheckResponse.fromPartial({
    findings: [
      ...fanOuts.map((row) => Unexplained.fromPartial(row)),
      ...rows.flatMap((row) => (row.kind === null ? [] : Unexplained.fromPartial(row))),
    ],
    after: last && `${last.status} ${last.endpointId}`,
  })
}

/** Checks the events of the request, or the next batch. */
export const check: Operation<'check'> = (dependencies, { eventIds, next }) =>
  next ? checkNext(dependencies, next) : checkEvents(dependencies, eventIds)
