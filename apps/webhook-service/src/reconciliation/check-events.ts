import { DeliveryCounts, Unexplained } from '@leadwire/contracts'
import { isUuid, validate } from '../arguments'
import { UNCLAIMED } from '../delivery-sql'
import type { Operation } from '../operation'
import { statement } from '../statement'

/** Events that one call reads in the order of their ids. */
const BATCH = 1000
const FIRST = '00000000-0000-0000-0000-000000000000'

const STATES = Object.keys(DeliveryCounts.fromPartial({})) as (keyof DeliveryCounts)[]

interface EventRow extends DeliveryCounts {
  id: string
  accountId: number
  leadReference: string | null
  createdAt: string
  /** How many deliveries the event was stored with; null where that was not recorded. */
  fanOut: number | null
  found: number
}

// Counted event by event: without hash joins PostgreSQL would compare each event with the counts of all others.
const countOf = (condition: string) => `
  WITH wanted AS MATERIALIZED (SELECT id, account_id, lead_reference, created_at, fan_out FROM events WHERE ${condition})
  SELECT id, account_id AS "accountId", lead_reference AS "leadReference", created_at AS "createdAt",
    fan_out AS "fanOut", counted.*
  FROM wanted CROSS JOIN LATERAL (
    SELECT count(*)::int AS found, ${STATES.map((each) => `count(*) FILTER (WHERE state = '${each}')::int AS "${each}"`)}
    FROM (
      SELECT CASE
        WHEN d.status NOT IN ('pending', 'held') THEN d.status
        WHEN p.deleted_at IS NOT NULL THEN 'cancelled'
        WHEN NOT p.enabled THEN 'held'
        WHEN ${UNCLAIMED} THEN 'pending'
        ELSE 'inFlight' END AS state
      FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id
      WHERE d.event_id = wanted.id
    ) of_event
  ) counted ORDER BY id`

const eventsById = statement<EventRow>('count-deliveries')`${countOf('id = ANY ($1::uuid[])')}`
const nextEvents = statement<EventRow>('count-next-deliveries')`
  ${countOf(`id > $1 ORDER BY id LIMIT ${BATCH}`)}`

const countAll = (rows: EventRow[]): DeliveryCounts => {
  const counts = DeliveryCounts.fromPartial({})
  for (const row of rows) for (const state of STATES) counts[state] += row[state]
  // A delivery in flight is pending, too.
  counts.pending += counts.inFlight
  return counts
}

/** One statement writes an event and its deliveries. Deliveries are only removed when they are old. */
const violationsOf = (rows: EventRow[], keptSince: string | undefined): Unexplained[] =>
  rows
    .filter(({ createdAt, fanOut, found }) => {
      const isOld = keptSince !== undefined && createdAt < keptSince
      return fanOut !== null && (isOld ? found > fanOut : found !== fanOut)
    })
    .map(({ id: eventId, accountId, leadReference, createdAt: since, fanOut, found }) =>
      Unexplained.fromPartial({
        ...{
          kind: 'deliveries_missing',
          accountId,
          leadReference: leadReference ?? undefined,
          eventId,
          since,
        },
        detail: `The event was stored with ${fanOut} deliveries and has ${found}.`,
      }),
    )

/**
 * Which of these events of leads or notifications are stored, how their deliveries stand, and what is wrong; or the same of the
 * next thousand of a kind, of which those of an account count. Throws invalid.
 */
export const checkEvents: Operation<'checkEvents'> = async (
  { database, notifications, keptMs },
  { eventIds, next },
) => {
  const { afterId = FIRST, accountId } = next ?? {}
  validate({
    event_ids: eventIds.every(isUuid) || 'must be UUIDs',
    after_id: isUuid(afterId) || 'must be a UUID',
  })
  const found = next
    ? await nextEvents(next.notifications ? notifications : database, afterId)
    : (await Promise.all([database, notifications].map((tables) => eventsById(tables, eventIds)))).flat()
  const rows = found.filter((row) => accountId === undefined || row.accountId === accountId)
  // By the machine's clock, with a minute for its difference from the database's.
  const keptSince = Number.isFinite(keptMs) ? new Date(Date.now() - keptMs + 60_000).toISOString() : undefined
  return {
    storedEventIds: next ? [] : rows.map(({ id }) => id),
    deliveries: countAll(rows),
    violations: violationsOf(rows, keptSince),
    keptSince,
    lastId: next && found.length === BATCH ? found.at(-1)!.id : undefined,
  }
}
