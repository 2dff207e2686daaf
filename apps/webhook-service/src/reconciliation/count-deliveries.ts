import { DeliveryCounts, DeliveryFault } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'

/** What there is of an event and of its deliveries. */
interface EventRow {
  id: string
  accountId: number
  leadReference: string | null
  createdAt: string
  /** How many deliveries it was stored with; null where nobody wrote it down. */
  fanOut: number | null
  found: number
  deliveries: string
}

// The status of an open delivery is what its endpoint says. Counted event by event: joined as wholes, each event would be compared with
// each other one's counts, because joins by hash are ruled out.
const countText = (some: string) => `
  WITH wanted AS MATERIALIZED (${some})
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

const COLUMNS = 'SELECT id, account_id, lead_reference, created_at, fan_out FROM events'

const BY_ID = countText(`${COLUMNS} WHERE id = ANY ($1::uuid[])`)

// Events that one statement reads in the order of their ids.
const PORTION = 1000

const NEXT = countText(`${COLUMNS} WHERE id > $1 ORDER BY id LIMIT ${PORTION}`)

export interface CountedEvents {
  ids: string[]
  deliveries: DeliveryCounts
  faults: DeliveryFault[]
}

const countAll = (rows: EventRow[]): DeliveryCounts => {
  const counts = DeliveryCounts.fromPartial({})
  for (const { deliveries } of rows)
    for (const [state, count] of Object.entries<number>(JSON.parse(deliveries)))
      counts[state as keyof DeliveryCounts] += count
  // One that is attempted is pending, too.
  counts.pending += counts.inFlight
  return counts
}

/** An event and its deliveries are written by one statement. Later deliveries go when they are old, and with their event. */
const faultOf = (row: EventRow, keptSince: string | undefined): DeliveryFault[] => {
  const { id, accountId, leadReference, createdAt, fanOut, found } = row
  const isOld = keptSince !== undefined && createdAt < keptSince
  if (fanOut === null || fanOut === found || (found < fanOut && isOld)) return []
  return [
    DeliveryFault.fromPartial({
      ...{ kind: 'deliveries_missing', accountId, eventId: id, since: createdAt },
      ...(leadReference !== null && { leadReference }),
      detail: `The event was stored with ${fanOut} deliveries and has ${found}.`,
    }),
  ]
}

const countRows = (rows: EventRow[], keptSince: string | undefined): CountedEvents => ({
  ids: rows.map(({ id }) => id),
  deliveries: countAll(rows),
  faults: rows.flatMap((row) => faultOf(row, keptSince)),
})

/** How these events stand. Those that are not there are not among the ids. `keptSince`: what is older may have been removed. */
export const countDeliveries = async (
  database: Transaction,
  { eventIds, keptSince }: { eventIds: string[]; keptSince: string | undefined },
): Promise<CountedEvents> =>
  countRows(
    await database.query<EventRow>({ name: 'count-deliveries', text: BY_ID, values: [eventIds] }),
    keptSince,
  )

/** The same of the next events by id, or of those among them of an account; `lastId` is undefined at the end. */
export const countNextDeliveries = async (
  database: Transaction,
  {
    afterId,
    accountId,
    keptSince,
  }: { afterId: string; accountId: number | undefined; keptSince: string | undefined },
): Promise<CountedEvents & { lastId: string | undefined }> => {
  const rows = await database.query<EventRow>({
    name: 'count-next-deliveries',
    text: NEXT,
    values: [afterId],
  })
  const wanted = accountId === undefined ? rows : rows.filter((row) => row.accountId === accountId)
  return { ...countRows(wanted, keptSince), lastId: rows.length < PORTION ? undefined : rows.at(-1)!.id }
}
