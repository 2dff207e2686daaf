import type { ListDeliveriesRequest } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { isUuid, validate } from '../arguments'
import {
  below,
  DELIVERY_COLUMNS,
  deliveryOf,
  ENDED,
  hasManualAttempt,
  NEWEST_FIRST,
  readInOrder,
  SHOWN,
  STATUSES,
  shownStatus,
} from '../delivery-sql'
import type { Operation } from '../operation'
import { statement } from '../statement'

const PER_PAGE = 20
const PER_CURSOR_PAGE = 100
const MAX_COUNT = 10_000

type Filter = Pick<ListDeliveriesRequest, 'accountId' | 'endpointId' | 'status' | 'leadReference'>
type Given = (value: unknown) => string

// A range of one index, compared and ordered by all of its columns (see `delivery-sql.ts`).
const OF_ACCOUNT = `SELECT id FROM deliveries WHERE (account_id, id) < ($1::bigint, $2::bigint) AND account_id >= $1
  ORDER BY account_id DESC, id DESC LIMIT $3`

// By way of the events, which have the index. OFFSET 0 keeps PostgreSQL from reading all deliveries of the account or endpoint.
const ofLead = ({ endpointId, status, leadReference }: Filter, given: Given) =>
  `SELECT d.id
   FROM (SELECT id FROM events WHERE lead_reference = ${given(leadReference)} AND account_id = $1 OFFSET 0) e
     CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE event_id = e.id OFFSET 0) d
     JOIN endpoints p ON p.id = d.endpoint_id
   WHERE d.id < $2 ${endpointId === undefined ? '' : `AND d.endpoint_id = ${given(endpointId)}`}
     ${status === undefined ? '' : `AND ${SHOWN} = ${given(status)}`}
   ORDER BY d.id DESC LIMIT $3`

// A range for each status of each endpoint, and beside them the deliveries with a manual attempt.
const ofEndpoints = ({ endpointId, status }: Filter, given: Given) => {
  const isOpen = status === 'pending' || status === 'held'
  const endpoints = `p.account_id = $1 ${endpointId === undefined ? '' : `AND p.id = ${given(endpointId)}`}`
  const ranges = `
    SELECT d.id FROM endpoints p CROSS JOIN unnest(${given(STATUSES)}::text[]) AS s (status) CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE ${below('p.id', 's.status', '$2::bigint')}
        ${status !== undefined && ENDED.includes(status) ? `AND NOT ${hasManualAttempt('p')}` : ''}
      ${NEWEST_FIRST} LIMIT $3
    ) d
    WHERE ${endpoints} ${isOpen ? 'AND p.deleted_at IS NULL' : ''}
      ${status === undefined ? '' : `AND ${shownStatus('s.status', 'p')} = ${given(status)}`}`
  if (status !== 'pending') return ranges
  return `${ranges} UNION ALL
    SELECT d.id FROM endpoints p CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE endpoint_id = p.id AND manual_at IS NOT NULL AND id < $2
        AND status = ANY (${given(ENDED)}::text[])
    ) d
    WHERE ${endpoints} AND p.deleted_at IS NULL`
}

/** SQL: the ids of matching deliveries below `$2`, the newest `$3` of each range. And the values from `$4` on. */
const matching = (filter: Filter): { text: string; values: unknown[] } => {
  const values: unknown[] = []
  const given = (value: unknown) => `$${values.push(value) + 3}`
  if (filter.leadReference !== undefined) return { text: ofLead(filter, given), values }
  const isFiltered = filter.endpointId !== undefined || filter.status !== undefined
  return { text: isFiltered ? ofEndpoints(filter, given) : OF_ACCOUNT, values }
}

const count = async (tx: Transaction, filter: Filter): Promise<number> => {
  const { text, values } = matching(filter)
  const most = MAX_COUNT + 1
  const [row] = await tx.query<{ count: number }>({
    text: `SELECT count(*) FROM (SELECT FROM (${text}) matching LIMIT ${most}) counted`,
    values: [filter.accountId, Number.MAX_SAFE_INTEGER, most, ...values],
  })
  return row!.count
}

const deliveriesById = statement('deliveries-by-id')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ANY ($1::bigint[]) ORDER BY id DESC`

const read = async (tx: Transaction, filter: Filter, before: number, offset: number, limit: number) => {
  const { text, values } = matching(filter)
  const found = await tx.query<{ id: number }>({
    text: `SELECT id FROM (${text}) matching ORDER BY id DESC LIMIT ${limit + 1} OFFSET ${offset}`,
    values: [filter.accountId, before, offset + limit + 1, ...values],
  })
  const ids = found.slice(0, limit).map(({ id }) => id)
  const rows = await deliveriesById(tx, ids)
  return { deliveries: rows.map(deliveryOf), nextCursor: found.length > limit ? ids.at(-1) : undefined }
}

/**
 * A page of the account's deliveries, newest first, and how many match, 10,000 at most; or, with a cursor, 100 with lower ids. The cost
 * grows with the page and the account's endpoints, not with the deliveries; with a lead, with its deliveries. Throws invalid.
 */
export const listDeliveries: Operation<'listDeliveries'> = async ({ database }, request) => {
  const { page, cursor, ...filter } = request
  const { leadReference, status } = filter
  validate({
    status: status === undefined || STATUSES.includes(status) || `must be one of ${STATUSES.join(', ')}`,
    lead_reference: leadReference === undefined || isUuid(leadReference) || 'must be a UUID',
  })
  return database.transaction(async (tx) => {
    readInOrder(tx)
    if (cursor !== undefined) {
      const found = await read(tx, filter, cursor, 0, PER_CURSOR_PAGE)
      return { ...found, total: 0, totalCapped: false, perPage: PER_CURSOR_PAGE }
    }
    const counted = await count(tx, filter)
    const totals = {
      total: Math.min(counted, MAX_COUNT),
      totalCapped: counted > MAX_COUNT,
      perPage: PER_PAGE,
    }
    const offset = (Math.max(1, page) - 1) * PER_PAGE
    if (offset >= totals.total) return { deliveries: [], nextCursor: undefined, ...totals }
    return { ...(await read(tx, filter, Number.MAX_SAFE_INTEGER, offset, PER_PAGE)), ...totals }
  })
}
