import type { ListDeliveriesRequest, ListDeliveriesResponse } from '@leadwire/contracts'
import {
  type Database,
  type Faults,
  type OpenTransaction,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { below, NEWEST_FIRST, readInOrder } from '../endpoints/delivery-ranges'
import { shownStatus } from '../endpoints/shown-status'
import { isUuid } from '../uuid'
import { DELIVERY_COLUMNS, deliveryOf, ENDED, isByHand, SHOWN, STATUSES } from './delivery-row'

const PER_PAGE = 20
const PER_STEP = 100
/** A count stops here, and so do pages. */
export const COUNTED_AT_MOST = 10_000

interface Asked {
  accountId: number
  endpointId?: number | undefined
  status?: string | undefined
  leadReference?: string | undefined
}

// Bounded as the ranges of endpoints are (`endpoints/delivery-ranges.ts`).
const OF_ACCOUNT = `SELECT id FROM deliveries WHERE (account_id, id) < ($1::bigint, $2::bigint) AND account_id >= $1
  ORDER BY account_id DESC, id DESC LIMIT $3`

// Over the events, which have the index: one more on deliveries would be paid for with every attempt. OFFSET 0, because PostgreSQL
// would else look through all deliveries of the account or of the endpoint for those of few events.
const ofLead = ({ endpointId, status, leadReference }: Asked, given: (value: unknown) => string) =>
  `SELECT d.id
   FROM (SELECT id FROM events WHERE lead_reference = ${given(leadReference)} AND account_id = $1 OFFSET 0) e
     CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE event_id = e.id OFFSET 0) d
     JOIN endpoints p ON p.id = d.endpoint_id
   WHERE d.id < $2 ${endpointId === undefined ? '' : `AND d.endpoint_id = ${given(endpointId)}`}
     ${status === undefined ? '' : `AND ${SHOWN} = ${given(status)}`}
   ORDER BY d.id DESC LIMIT $3`

// A range for each status of each endpoint; what is to be attempted by hand is beside them.
const ofEndpoints = ({ endpointId, status }: Asked, given: (value: unknown) => string) => {
  const isOpen = status === 'pending' || status === 'held'
  const endpoints = `p.account_id = $1 ${endpointId === undefined ? '' : `AND p.id = ${given(endpointId)}`}`
  const ranges = `
    SELECT d.id FROM endpoints p CROSS JOIN unnest(${given(STATUSES)}::text[]) AS s (status) CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE ${below('p.id', 's.status', '$2::bigint')}
        ${status !== undefined && ENDED.includes(status) ? `AND NOT ${isByHand('p')}` : ''}
      ${NEWEST_FIRST} LIMIT $3
    ) d
    WHERE ${endpoints} ${isOpen ? 'AND p.deleted_at IS NULL' : ''}
      ${status === undefined ? '' : `AND ${shownStatus('s.status', 'p')} = ${given(status)}`}`
  if (status !== 'pending') return ranges
  return `${ranges} UNION ALL
    SELECT d.id FROM endpoints p CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE endpoint_id = p.id AND by_hand_at IS NOT NULL AND id < $2
        AND status = ANY (${given(ENDED)}::text[])
    ) d
    WHERE ${endpoints} AND p.deleted_at IS NULL`
}

/** SQL: the ids of matching deliveries below `$2`, of each range of an index the newest `$3`. And the values from `$4` on. */
const matching = (asked: Asked): { text: string; values: unknown[] } => {
  const values: unknown[] = []
  const given = (value: unknown) => `$${values.push(value) + 3}`
  if (asked.leadReference !== undefined) return { text: ofLead(asked, given), values }
  const isFiltered = asked.endpointId !== undefined || asked.status !== undefined
  return { text: isFiltered ? ofEndpoints(asked, given) : OF_ACCOUNT, values }
}

const idsOf = async (
  tx: Transaction,
  asked: Asked,
  { before, offset, limit }: { before: number; offset: number; limit: number },
): Promise<number[]> => {
  const { text, values } = matching(asked)
  const rows = await tx.query<{ id: number }>({
    text: `SELECT id FROM (${text}) matching ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
    values: [asked.accountId, before, offset + limit, ...values],
  })
  return rows.map(({ id }) => id)
}

const countOf = async (tx: Transaction, asked: Asked): Promise<number> => {
  const { text, values } = matching(asked)
  const most = COUNTED_AT_MOST + 1
  const [row] = await tx.query<{ count: number }>({
    text: `SELECT count(*) FROM (SELECT FROM (${text}) matching LIMIT ${most}) counted`,
    values: [asked.accountId, Number.MAX_SAFE_INTEGER, most, ...values],
  })
  return row!.count
}

const rowsOf = (tx: Transaction, ids: number[]) =>
  tx.query<object>({
    name: 'deliveries-by-id',
    text: `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ANY ($1::bigint[]) ORDER BY id DESC`,
    values: [ids],
  })

/** Up to `limit` deliveries, and the id behind which more follow. */
const stretch = async (
  tx: Transaction,
  asked: Asked,
  { limit, ...from }: { before: number; offset: number; limit: number },
) => {
  const ids = await idsOf(tx, asked, { ...from, limit: limit + 1 })
  const shown = ids.slice(0, limit)
  const rows = shown.length > 0 ? await rowsOf(tx, shown) : []
  return { deliveries: rows.map(deliveryOf), nextCursor: ids.length > limit ? shown.at(-1) : undefined }
}

const find = async (
  tx: OpenTransaction,
  asked: Asked,
  { page, cursor }: ListDeliveriesRequest,
): Promise<ListDeliveriesResponse> => {
  readInOrder(tx)
  if (cursor !== undefined) {
    return {
      ...NOTHING,
      ...(await stretch(tx, asked, { before: cursor, offset: 0, limit: PER_STEP })),
      perPage: PER_STEP,
    }
  }
  const count = await countOf(tx, asked)
  const [total, totalCapped] = [Math.min(count, COUNTED_AT_MOST), count > COUNTED_AT_MOST]
  const offset = (Math.max(1, page) - 1) * PER_PAGE
  if (offset >= total) return { ...NOTHING, total, totalCapped }
  const before = Number.MAX_SAFE_INTEGER
  return {
    ...(await stretch(tx, asked, { before, offset, limit: PER_PAGE })),
    total,
    totalCapped,
    perPage: PER_PAGE,
  }
}

const NOTHING: ListDeliveriesResponse = {
  deliveries: [],
  total: 0,
  perPage: PER_PAGE,
  totalCapped: false,
  nextCursor: undefined,
}

/**
 * A page of the account's deliveries, newest first, and how many the filters let through, 10,000 at most; or a step of a walk,
 * 100 deliveries with lower ids than the cursor. What is read grows with the page and with the account's endpoints, and
 * not with the deliveries; with a lead only with what that lead has. Throws invalid.
 */
export const listDeliveries = async (
  { database }: { database: Database },
  request: ListDeliveriesRequest,
): Promise<ListDeliveriesResponse> => {
  const { leadReference, status } = request
  const faults: Faults = {}
  if (status !== undefined && !STATUSES.includes(status))
    faults['status'] = [`must be one of ${STATUSES.join(', ')}`]
  if (leadReference !== undefined && !isUuid(leadReference)) faults['lead_reference'] = ['must be a UUID']
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  return database.transaction((tx) => find(tx, request, request))
}
