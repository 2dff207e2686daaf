import { type CheckDeliveriesRequest, type CheckDeliveriesResponse, DeliveryFault } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../clock'

/** How late an attempt may begin before somebody should know, when nothing of its endpoint is under way. */
const LATE_MS = 120_000
/** How much longer than the schedule's longest pause a delivery may wait: an attempt ends before its pause begins. */
const AHEAD_MS = 60_000
/** Held deliveries of an endpoint that was enabled are moved in portions. None for so long means that nobody moves them. */
const MOVED_MS = 1_800_000
/** Endpoints that one call looks at, and deliveries of each. Claims are made in this order, so one that is valid is among them. */
const ENDPOINTS = 1000
const OF_EACH = 50
/** Deliveries beyond the schedule that are told of. */
const BEYOND = 100

// A loose index scan: one probe for each endpoint that has open deliveries of a status, however many these are.
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

const open = (status: 'pending' | 'held', condition: string, limit: number, ofEndpoint = '') => `
  WITH RECURSIVE ${status} AS (${endpointsWith(status)}), looked_at AS MATERIALIZED (
    SELECT endpoint_id FROM ${status} LIMIT ${ENDPOINTS}
  )
  SELECT looked_at.endpoint_id AS "lastEndpointId", d.* FROM looked_at LEFT JOIN LATERAL (
    SELECT ${COLUMNS}, d.claimed_until > now() AS claimed,
      d.claimed_until > now() + $3::bigint * interval '1 ms' AS "claimedTooLong"
    FROM endpoints p CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.endpoint_id = p.id AND d.status = '${status}' AND ${condition}
      ORDER BY d.next_attempt_at LIMIT ${limit}
    ) d
    WHERE p.id = looked_at.endpoint_id AND p.enabled AND p.deleted_at IS NULL AND p.updated_at < $2 ${ofEndpoint}
  ) d ON true
  ORDER BY 1`

const OVERDUE = open('pending', 'd.next_attempt_at < $2', OF_EACH)
const HELD = open(
  'held',
  'd.next_attempt_at IS NOT NULL',
  1,
  'AND NOT EXISTS (SELECT FROM unsettled_endpoints u WHERE u.endpoint_id = p.id AND u.turn >= $2)',
)

const BEYOND_SCHEDULE = `
  SELECT ${COLUMNS} FROM deliveries d JOIN endpoints p ON p.id = d.endpoint_id
  WHERE d.status = 'pending' AND d.next_attempt_at > $1 AND p.enabled AND p.deleted_at IS NULL
  ORDER BY d.next_attempt_at DESC LIMIT ${BEYOND}`

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

const faultOf = (kind: string, detail: string, row: Row): DeliveryFault =>
  DeliveryFault.fromPartial({
    ...{
      kind,
      detail,
      accountId: row.accountId,
      eventId: row.eventId,
      deliveryId: row.id!,
      since: row.dueAt,
    },
    ...(row.leadReference !== null && { leadReference: row.leadReference }),
  })

/** While something of an endpoint is attempted, what is due there waits for its turn, perhaps for long. */
const overdueOf = (rows: Row[]): DeliveryFault[] => {
  const found = rows.filter(({ id }) => id !== null)
  const busy = new Set(
    found.filter((row) => row.claimed && !row.claimedTooLong).map(({ endpointId }) => endpointId),
  )
  return found.flatMap((row) => {
    if (row.claimedTooLong)
      return [faultOf('delivery_overdue', 'It is claimed for longer than an attempt takes.', row)]
    if (busy.has(row.endpointId)) return []
    return [faultOf('delivery_overdue', 'It is due, and nothing of its endpoint is attempted.', row)]
  })
}

/** How far all looks came; undefined when none has more to look at. */
const lastOf = (looks: Row[][]): number | undefined => {
  const lasts = looks
    .filter((rows) => new Set(rows.map(({ lastEndpointId }) => lastEndpointId)).size === ENDPOINTS)
    .map((rows) => rows.at(-1)!.lastEndpointId)
  return lasts.length > 0 ? Math.min(...lasts) : undefined
}

/**
 * Open deliveries of endpoints that are enabled, and that nobody is going to attempt: due for minutes while nothing of their endpoint
 * is attempted, due later than the schedule can say, or held. The first fifty of an endpoint stand for all of them.
 */
export const checkDeliveries = async (
  deps: {
    database: Database
    notifications: Database
    clock: Clock
    /** The schedule's longest pause. */
    longestPauseMs: number
    /** For how long deliveries of each kind are claimed. */
    claimMs: { webhooks: number; notifications: number }
  },
  { notifications: areMessages, afterEndpointId = 0, accountId }: CheckDeliveriesRequest,
): Promise<CheckDeliveriesResponse> => {
  const database = areMessages ? deps.notifications : deps.database
  const claimMs = deps.claimMs[areMessages ? 'notifications' : 'webhooks']
  const at = (ms: number) => new Date(deps.clock.now().getTime() + ms).toISOString()
  const query = (name: string, text: string, ...values: unknown[]) =>
    database.query<Row>({ name: `check-${name}`, text, values })
  const [overdue, held] = await Promise.all([
    query('overdue', OVERDUE, afterEndpointId, at(-claimMs - LATE_MS), claimMs),
    query('held', HELD, afterEndpointId, at(-MOVED_MS), claimMs),
  ])
  // Once: it is not looked for by endpoint.
  const beyond =
    afterEndpointId === 0
      ? await query('beyond-schedule', BEYOND_SCHEDULE, at(deps.longestPauseMs + claimMs + AHEAD_MS))
      : []
  const faults = [
    ...overdueOf(overdue),
    ...held
      .filter(({ id }) => id !== null)
      .map((row) => faultOf('delivery_held', 'It is held, and its endpoint is enabled.', row)),
    ...beyond.map((row) =>
      faultOf('delivery_beyond_schedule', 'It is due later than the schedule can say.', row),
    ),
  ]
  return {
    faults: accountId === undefined ? faults : faults.filter((fault) => fault.accountId === accountId),
    lastEndpointId: lastOf([overdue, held]),
  }
}
