import type { ListDeliveriesRequest } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import { addMilliseconds } from '../clock'
import {
  ENDED,
  findFirstCreatedSince,
  hasManualAttempt,
  isBelow,
  NEWEST_FIRST,
  renderStatus,
  SHOWN,
  STATUSES,
  selectFromLastAttempt,
} from '../delivery-sql'

/**
 * How many deliveries one response reads if no index covers the filter. If the filter has an endpoint or a
 * status, this limit applies to each status separately.
 */
const READ_LIMIT = 10_000

type Filter = Omit<ListDeliveriesRequest, 'page' | 'cursor'>
/** Adds a value to a query. Returns the SQL that refers to the value. */
type AddValue = (value: unknown) => string

/** A filter, and the ids between which deliveries are read. */
export interface Scan {
  filter: Filter
  /** Whether the deliveries are found through the events of the lead. */
  byLead: boolean
  after: number
  before: number
}

/** Returns the first and the last reference that start with these digits. */
const computeReferenceRange = (start: string) => {
  const digits = start.replaceAll('-', '')
  return [digits.padEnd(32, '0'), digits.padEnd(32, 'f')]
}

const hasReference = (start: string, add: AddValue) => {
  const [first, last] = computeReferenceRange(start)
  return `lead_reference BETWEEN ${add(first)}::uuid AND ${add(last)}::uuid`
}

/** Renders the conditions for which there is no index. */
const renderConditions = ({ filter, byLead }: Pick<Scan, 'filter' | 'byLead'>, add: AddValue): string[] => {
  const { leadReference, type, error, failed } = filter
  return [
    leadReference !== undefined && !byLead && hasReference(leadReference, add),
    type !== undefined && `(SELECT type FROM events WHERE events.id = event_id) = ${add(type)}`,
    error !== undefined && `${selectFromLastAttempt('error')} = ${add(error)}`,
    failed !== undefined && `${selectFromLastAttempt('error')} IS ${failed ? 'NOT ' : ''}NULL`,
  ].filter((condition) => condition !== false)
}

// Renders comparisons with the exact times, because the bounds of the scan limit the time only roughly (see
// `SKEW_MS`).
const renderTimes = ({ from, to }: Filter, add: AddValue): string[] =>
  [from !== undefined && `created_at >= ${add(from)}`, to !== undefined && `created_at < ${add(to)}`].filter(
    (condition) => condition !== false,
  )

// The comparison and the order name all columns of the index on (account_id, id). Otherwise PostgreSQL may
// scan another index (see `isBelow` in `delivery-sql.ts`).
const OF_ACCOUNT = '(account_id, id) < ($1::bigint, $2::bigint) AND (account_id, id) > ($1, $3::bigint)'
const ACCOUNT_ORDER = 'ORDER BY account_id DESC, id DESC'

// Finds the deliveries through the events, because only the table of events has an index on the lead. OFFSET
// 0 keeps PostgreSQL from reading all deliveries of the account or the endpoint.
const renderLeadScan = ({ endpointId, status, leadReference }: Filter, where: string, add: AddValue) =>
  `SELECT d.id
   FROM (SELECT id FROM events WHERE ${hasReference(leadReference!, add)} AND account_id = $1 OFFSET 0) e
     CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE event_id = e.id AND id < $2 AND id > $3 ${where} OFFSET 0) d
     JOIN endpoints p ON p.id = d.endpoint_id
   WHERE true ${endpointId === undefined ? '' : `AND d.endpoint_id = ${add(endpointId)}`}
     ${status === undefined ? '' : `AND ${SHOWN} = ${add(status)}`}
   ORDER BY d.id DESC`

/** Renders the parts of a query that reads one range of an index for each status of each endpoint. */
const renderRanges = ({ endpointId, status }: Filter, add: AddValue) => {
  const isOpen = status === 'pending' || status === 'held'
  const endpoints = `p.account_id = $1 ${endpointId === undefined ? '' : `AND p.id = ${add(endpointId)}`}
    ${isOpen ? 'AND p.deleted_at IS NULL' : ''}`
  return {
    endpoints,
    from: `endpoints p CROSS JOIN unnest(${add(STATUSES)}::text[]) AS s (status)`,
    range: `${isBelow('p.id', 's.status', '$2::bigint')} AND (status, id) > (s.status, $3::bigint)
      ${status !== undefined && ENDED.includes(status) ? `AND NOT ${hasManualAttempt('p')}` : ''}`,
    where: `${endpoints} ${status === undefined ? '' : `AND ${renderStatus('s.status', 'p')} = ${add(status)}`}`,
  }
}

/**
 * Renders the query that reads the ranges of all endpoints. If the filter has the status pending, the query
 * also reads ended deliveries that have a manual attempt, because these deliveries are shown as pending.
 */
const renderEndpointScan = (filter: Filter, conditions: string, limit: number, add: AddValue) => {
  const { endpoints, from, range, where } = renderRanges(filter, add)
  const ranges = `
    SELECT d.id FROM ${from} CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE ${range} ${conditions} ${NEWEST_FIRST} LIMIT ${limit}
    ) d
    WHERE ${where}`
  if (filter.status !== 'pending') return ranges
  return `${ranges} UNION ALL
    SELECT d.id FROM endpoints p CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE endpoint_id = p.id AND manual_at IS NOT NULL AND id < $2 AND id > $3
        AND status = ANY (${add(ENDED)}::text[]) ${conditions}
    ) d
    WHERE ${endpoints} AND p.enabled`
}

const isByEndpoint = ({ endpointId, status }: Filter) => endpointId !== undefined || status !== undefined

/** Builds a query. Its first three values are the account and the bounds. `text` adds further values. */
const buildQuery = ({ filter, before, after }: Scan, text: (add: AddValue) => string) => {
  const values: unknown[] = [filter.accountId, before, after]
  return { text: text((value) => `$${values.push(value)}`), values }
}

/**
 * Builds the query for the ids of matching deliveries. The query reads at most the newest `limit` ids of each
 * range.
 */
export const buildMatchingQuery = (scan: Scan, limit: number) =>
  buildQuery(scan, (add) => {
    const { filter, byLead } = scan
    const conditions = [...renderTimes(filter, add), ...renderConditions(scan, add)]
    const where = conditions.map((condition) => `AND ${condition}`).join(' ')
    if (byLead) return `${renderLeadScan(filter, where, add)} LIMIT ${limit}`
    if (isByEndpoint(filter)) return renderEndpointScan(filter, where, limit, add)
    return `SELECT id FROM deliveries WHERE ${OF_ACCOUNT} ${where} ${ACCOUNT_ORDER} LIMIT ${limit}`
  })

// Counts an event without deliveries as one delivery, because a response must read such an event, too. ORDER
// BY makes PostgreSQL read the index even if its statistics are wrong.
const countLeadDeliveries = statement<{ count: number }>('count-of-lead')`
  SELECT count(*) FROM (
    SELECT FROM (
      SELECT id, account_id FROM events WHERE lead_reference BETWEEN $1::uuid AND $2::uuid
      ORDER BY lead_reference LIMIT ${READ_LIMIT + 1}
    ) e LEFT JOIN LATERAL (SELECT FROM deliveries WHERE event_id = e.id AND e.account_id = $3 OFFSET 0) d ON true
    LIMIT ${READ_LIMIT + 1}
  ) counted`

/** Returns whether the events of a lead have so few deliveries that one response can read all of them. */
export const isNarrow = async (tx: Transaction, { accountId, leadReference }: Filter): Promise<boolean> => {
  if (leadReference === undefined) return false
  const [row] = await countLeadDeliveries(tx, ...computeReferenceRange(leadReference), accountId)
  return row!.count <= READ_LIMIT
}

const findFirstSince = statement<{ first: number }>(
  'first-delivery-since',
)`${findFirstCreatedSince('id', 'deliveries')}`

/**
 * The margin of the bounds in milliseconds. A row gets its time a moment after its id, so the times of rows
 * with close ids may be out of order.
 */
const SKEW_MS = 1000

const findFirstId = async (tx: Transaction, instant: string, skewMs: number): Promise<number> => {
  const [row] = await findFirstSince(tx, { since: addMilliseconds(instant, skewMs) })
  return row!.first
}

/** Finds bounds for the ids of all deliveries in the filter's time range. The bounds are exclusive. */
export const findBounds = async (tx: Transaction, { from, to }: Filter, cursor: number) => ({
  after: from === undefined ? 0 : (await findFirstId(tx, from, -SKEW_MS)) - 1,
  before: to === undefined ? cursor : Math.min(cursor, await findFirstId(tx, to, SKEW_MS)),
})

/**
 * Finds the newest delivery that this response does not read. Returns undefined if the response reads all
 * deliveries. If the filter has an endpoint or a status, `READ_LIMIT` applies to each status and is divided
 * equally among the endpoints.
 */
export const findFirstUnread = async (tx: Transaction, scan: Scan): Promise<number | undefined> => {
  const { filter } = scan
  if (renderConditions(scan, () => '').length === 0) return undefined
  const query = buildQuery(scan, (add) => {
    if (!isByEndpoint(filter))
      return `SELECT id FROM deliveries WHERE ${OF_ACCOUNT} ${ACCOUNT_ORDER} OFFSET ${READ_LIMIT} LIMIT 1`
    const { endpoints, from, range, where } = renderRanges(filter, add)
    return `
      SELECT max(d.id) AS id FROM ${from} CROSS JOIN LATERAL (
        SELECT id FROM deliveries WHERE ${range} ${NEWEST_FIRST}
        OFFSET (SELECT greatest(1, ${READ_LIMIT} / greatest(1, count(*))) FROM endpoints p WHERE ${endpoints}) LIMIT 1
      ) d WHERE ${where}`
  })
  const [row] = await tx.query<{ id: number | null }>(query)
  return row?.id ?? undefined
}
