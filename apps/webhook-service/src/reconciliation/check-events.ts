import { type CheckEventsResponse, DeliveryCounts, DeliveryViolation } from '@leadwire/contracts'
import { isUuid, validate } from '../arguments'
import { UNCLAIMED } from '../delivery-sql'
import type { Operation } from '../operation'
import { statement } from '../statement'

/** Events that one call reads in the order of their ids. */
const BATCH = 1000
const FIRST = '00000000-0000-0000-0000-000000000000'

interface EventRow {
  id: string
  accountId: number
  leadReference: string | null
  createdAt: string
  /** How many deliveries the event was stored with; null where that was not recorded. */
  fanOut: number | null
  found: number
  /** JSON: the number of deliveries in each state. */
  deliveries: string
}

// Counted event by event: without hash joins PostgreSQL would compare each event with the counts of all others.
const countOf = (condition: string) => `
  WITH wanted AS MATERIALIZED (SELECT id, account_id, lead_reference, created_at, fan_out FROM events WHERE ${condition})
  SELECT id, account_id AS "accountId", lead_reference AS "leadReference", created_at AS "createdAt",
    fan_out AS "fanOut", coalesce(found, 0) AS found, coalesce(deliveries, '{}') AS deliveries
  FROM wanted CROSS JOIN LATERAL (
    SELECT sum(count)::int AS found, json_object_agg(state, count) AS deliveries
    FROM (
      SELECT state, count(*)::int AS count
      FROM (
        SELECT CASE
          WHEN d.status NOT IN ('pending', 'held') THEN d.status
          WHEN p.deleted_at IS NOT NULL THEN 'cancelled'
          WHEN NOT p.enabled THEN 'held'
          WHEN ${UNCLAIMED} THEN 'pending'
          ELSE 'inFlight' END AS state
        FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id
        WHERE d.event_id = wanted.id
      ) of_event GROUP BY state
    ) by_state
  ) counted ORDER BY id`

const eventsById = statement<EventRow>('count-deliveries')`${countOf('id = ANY ($1::uuid[])')}`
const nextEvents = statement<EventRow>('count-next-deliveries')`
  ${countOf(`id > $1 ORDER BY id LIMIT ${BATCH}`)}`

const countAll = (rows: EventRow[]): DeliveryCounts => {
  const counts = DeliveryCounts.fromPartial({})
  for (const { deliveries } of rows)
    for (const [state, count] of Object.entries<number>(JSON.parse(deliveries)))
      counts[state as keyof DeliveryCounts] += count
  // A delivery in flight is pending, too.
  counts.pending += counts.inFlight
  return counts
}

/** One statement writes an event and its deliveries. Deliveries are only removed when they are old. */
const violationsOf = (row: EventRow, keptSince: string | undefined): DeliveryViolation[] => {
  const { id: eventId, accountId, leadReference, createdAt, fanOut, found } = row
  const isOld = keptSince !== undefined && createdAt < keptSince
  if (fanOut === null || fanOut === found || (found < fanOut && isOld)) return []
  return [
    DeliveryViolation.fromPartial({
      ...{ kind: 'deliveries_missing', accountId, eventId, since: createdAt },
      ...(leadReference !== null && { leadReference }),
      detail: `The event was stored with ${fanOut} deliveries and has ${found}.`,
    }),
  ]
}

// By the machine's clock, with a minute for its difference from the database's.
const keptSinceOf = (keptMs: number): string | undefined =>
  Number.isFinite(keptMs) ? new Date(Date.now() - keptMs + 60_000).toISOString() : undefined

const summarize = (
  rows: EventRow[],
  keptSince: string | undefined,
): Pick<CheckEventsResponse, 'deliveries' | 'violations'> => ({
  deliveries: countAll(rows),
  violations: rows.flatMap((row) => violationsOf(row, keptSince)),
})

/** How these events of leads or notifications, and their deliveries, stand. Throws invalid. */
export const checkEvents: Operation<'checkEvents'> = async (
  { database, notifications, keptMs },
  { eventIds },
) => {
  validate({ event_ids: eventIds.every(isUuid) || 'must be UUIDs' })
  const found = await Promise.all([database, notifications].map((tables) => eventsById(tables, eventIds)))
  const rows = found.flat()
  const keptSince = keptSinceOf(keptMs)
  return { storedEventIds: rows.map(({ id }) => id), ...summarize(rows, keptSince), keptSince }
}

/** The same of the next thousand events of a kind, or of those among them of an account. Throws invalid. */
export const checkNextEvents: Operation<'checkNextEvents'> = async (
  { database, notifications, keptMs },
  { notifications: areNotifications, afterId = FIRST, accountId },
) => {
  validate({ after_id: isUuid(afterId) || 'must be a UUID' })
  const rows = await nextEvents(areNotifications ? notifications : database, afterId)
  const wanted = rows.filter((row) => accountId === undefined || row.accountId === accountId)
  const lastId = rows.length < BATCH ? undefined : rows.at(-1)!.id
  return { events: wanted.length, ...summarize(wanted, keptSinceOf(keptMs)), lastId }
}
