import type { ListDeliveriesRequest } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import {
  below,
  ENDED,
  firstCreatedSince,
  hasManualAttempt,
  NEWEST_FIRST,
  ofLastAttempt,
  SHOWN,
  STATUSES,
  shownStatus,
} from '../delivery-sql'

/** How many deliveries of a status one response reads to find those that match conditions without an index. */
const READ_LIMIT = 10_000

type Filter = Omit<ListDeliveriesRequest, 'page' | 'cursor'>
type Given = (value: unknown) => string

/** What is read: deliveries with ids between two, or those of the events of a reference. */
export interface Scan {
  filter: Filter
  byLead: boolean
  after: number
  before: number
}

/** The first and the last reference that start with these digits. */
const referencesOf = (start: string) => {
  const digits = start.replaceAll('-', '')
  return [digits.padEnd(32, '0'), digits.padEnd(32, 'f')]
}

const hasReference = (start: string, given: Given) => {
  const [first, last] = referencesOf(start)
  return `lead_reference BETWEEN ${given(first)}::uuid AND ${given(last)}::uuid`
}

/** The conditions on a delivery that no index has. */
const conditionsOf = ({ filter, byLead }: Pick<Scan, 'filter' | 'byLead'>, given: Given): string[] => {
  const { leadReference, type, error, failed } = filter
  return [
    leadReference !== undefined && !byLead && hasReference(leadReference, given),
    type !== undefined && `(SELECT type FROM events WHERE events.id = event_id) = ${given(type)}`,
    error !== undefined && `${ofLastAttempt('error')} = ${given(error)}`,
    failed !== undefined && `${ofLastAttempt('error')} IS ${failed ? 'NOT ' : ''}NULL`,
  ].filter((condition) => condition !== false)
}

// Of the bounds in ids, which are a little wider.
const timesOf = ({ from, to }: Filter, given: Given): string[] =>
  [
    from !== undefined && `created_at >= ${given(from)}`,
    to !== undefined && `created_at < ${given(to)}`,
  ].filter((condition) => condition !== false)

// A range of one index, compared and ordered by all of its columns (see `delivery-sql.ts`).
const OF_ACCOUNT = '(account_id, id) < ($1::bigint, $2::bigint) AND (account_id, id) > ($1, $3::bigint)'
const ACCOUNT_ORDER = 'ORDER BY account_id DESC, id DESC'

// By way of the events, which have the index. OFFSET 0 keeps PostgreSQL from reading all deliveries of the account or endpoint.
const ofLead = ({ endpointId, status, leadReference }: Filter, where: string, given: Given) =>
  `SELECT d.id
   FROM (SELECT id FROM events WHERE ${hasReference(leadReference!, given)} AND account_id = $1 OFFSET 0) e
     CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE event_id = e.id AND id < $2 AND id > $3 ${where} OFFSET 0) d
     JOIN endpoints p ON p.id = d.endpoint_id
   WHERE true ${endpointId === undefined ? '' : `AND d.endpoint_id = ${given(endpointId)}`}
     ${status === undefined ? '' : `AND ${SHOWN} = ${given(status)}`}
   ORDER BY d.id DESC`

/** The ranges of the index that have the deliveries: one for each status of each endpoint. */
const rangesOf = ({ endpointId, status }: Filter, given: Given) => {
  const isOpen = status === 'pending' || status === 'held'
  const endpoints = `p.account_id = $1 ${endpointId === undefined ? '' : `AND p.id = ${given(endpointId)}`}
    ${isOpen ? 'AND p.deleted_at IS NULL' : ''}`
  return {
    endpoints,
    from: `endpoints p CROSS JOIN unnest(${given(STATUSES)}::text[]) AS s (status)`,
    range: `${below('p.id', 's.status', '$2::bigint')} AND (status, id) > (s.status, $3::bigint)
      ${status !== undefined && ENDED.includes(status) ? `AND NOT ${hasManualAttempt('p')}` : ''}`,
    where: `${endpoints} ${status === undefined ? '' : `AND ${shownStatus('s.status', 'p')} = ${given(status)}`}`,
  }
}

/** The ranges, and beside them the deliveries with a manual attempt. */
const ofEndpoints = (filter: Filter, conditions: string, limit: number, given: Given) => {
  const { endpoints, from, range, where } = rangesOf(filter, given)
  const ranges = `
    SELECT d.id FROM ${from} CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE ${range} ${conditions} ${NEWEST_FIRST} LIMIT ${limit}
    ) d
    WHERE ${where}`
  if (filter.status !== 'pending') return ranges
  return `${ranges} UNION ALL
    SELECT d.id FROM endpoints p CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE endpoint_id = p.id AND manual_at IS NOT NULL AND id < $2 AND id > $3
        AND status = ANY (${given(ENDED)}::text[]) ${conditions}
    ) d
    WHERE ${endpoints} AND p.enabled`
}

const isByEndpoint = ({ endpointId, status }: Filter) => endpointId !== undefined || status !== undefined

/** A query with the account and the bounds as its first values, and those that `text` adds. */
const queryOf = ({ filter, before, after }: Scan, text: (given: Given) => string) => {
  const values: unknown[] = [filter.accountId, before, after]
  return { text: text((value) => `$${values.push(value)}`), values }
}

/** SQL: the ids of matching deliveries between the bounds, the newest `limit` of each range. */
export const matching = (scan: Scan, limit: number) =>
  queryOf(scan, (given) => {
    const { filter, byLead } = scan
    const conditions = [...timesOf(filter, given), ...conditionsOf(scan, given)]
    const where = conditions.map((condition) => `AND ${condition}`).join(' ')
    if (byLead) return `${ofLead(filter, where, given)} LIMIT ${limit}`
    if (isByEndpoint(filter)) return ofEndpoints(filter, where, limit, given)
    return `SELECT id FROM deliveries WHERE ${OF_ACCOUNT} ${where} ${ACCOUNT_ORDER} LIMIT ${limit}`
  })

// Each event once, even without deliveries in the account. Sorted, so that the index is read whatever the statistics say.
const countOfLead = statement<{ count: number }>('count-of-lead')`
  SELECT count(*) FROM (
    SELECT FROM (
      SELECT id, account_id FROM events WHERE lead_reference BETWEEN $1::uuid AND $2::uuid
      ORDER BY lead_reference LIMIT ${READ_LIMIT + 1}
    ) e LEFT JOIN LATERAL (SELECT FROM deliveries WHERE event_id = e.id AND e.account_id = $3 OFFSET 0) d ON true
    LIMIT ${READ_LIMIT + 1}
  ) counted`

/** Whether a reference has so few events and deliveries that all are read. */
export const isNarrow = async (tx: Transaction, { accountId, leadReference }: Filter): Promise<boolean> => {
  if (leadReference === undefined) return false
  const [row] = await countOfLead(tx, ...referencesOf(leadReference), accountId)
  return row!.count <= READ_LIMIT
}

const firstSince = statement<{ first: number }>(
  'first-delivery-since',
)`${firstCreatedSince('id', 'deliveries')}`

// A row reads the clock a moment after it gets its id, so neighbours may be in another order.
const SKEW_MS = 1000

const firstId = async (tx: Transaction, instant: string, skewMs: number): Promise<number> => {
  const [row] = await firstSince(tx, new Date(Date.parse(instant) + skewMs))
  return row!.first
}

export const boundsOf = async (tx: Transaction, { from, to }: Filter, cursor: number) => ({
  after: from === undefined ? 0 : (await firstId(tx, from, -SKEW_MS)) - 1,
  before: to === undefined ? cursor : Math.min(cursor, await firstId(tx, to, SKEW_MS)),
})

/** The newest id that this response does not read; undefined when it reads all. Endpoints share what may be read of each status. */
export const firstUnread = async (tx: Transaction, scan: Scan): Promise<number | undefined> => {
  const { filter } = scan
  if (conditionsOf(scan, () => '').length === 0) return undefined
  const query = queryOf(scan, (given) => {
    if (!isByEndpoint(filter))
      return `SELECT id FROM deliveries WHERE ${OF_ACCOUNT} ${ACCOUNT_ORDER} OFFSET ${READ_LIMIT} LIMIT 1`
    const { endpoints, from, range, where } = rangesOf(filter, given)
    return `
      SELECT max(d.id) AS id FROM ${from} CROSS JOIN LATERAL (
        SELECT id FROM deliveries WHERE ${range} ${NEWEST_FIRST}
        OFFSET (SELECT greatest(1, ${READ_LIMIT} / greatest(1, count(*))) FROM endpoints p WHERE ${endpoints}) LIMIT 1
      ) d WHERE ${where}`
  })
  const [row] = await tx.query<{ id: number | null }>(query)
  return row?.id ?? undefined
}
