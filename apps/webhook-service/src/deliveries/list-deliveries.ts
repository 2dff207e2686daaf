import { ATTEMPT_ERRORS, EVENT_TYPES, isInstant, UUID_START } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import { isOneOf, validate } from '../arguments'
import { DELIVERY_COLUMNS, deliveryOf, readInOrder, STATUSES } from '../delivery-sql'
import type { Operation } from '../operation'
import { boundsOf, firstUnread, isNarrow, matching, type Scan } from './matching-deliveries'

const PER_PAGE = 20
const PER_CURSOR_PAGE = 100
const MAX_COUNT = 10_000

const isTime = (text: string | undefined) =>
  text === undefined || isInstant(text) || 'must be an instant in UTC, such as 2026-01-31T09:30:00Z'

const count = async (tx: Transaction, scan: Scan): Promise<number> => {
  const { text, values } = matching(scan, MAX_COUNT + 1)
  const [row] = await tx.query<{ count: number }>({
    text: `SELECT count(*) FROM (SELECT FROM (${text}) matching LIMIT ${MAX_COUNT + 1}) counted`,
    values,
  })
  return row!.count
}

const deliveriesById = statement('deliveries-by-id')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ANY ($1::bigint[]) ORDER BY id DESC`

const read = async (tx: Transaction, scan: Scan, offset: number, limit: number) => {
  const { text, values } = matching(scan, offset + limit + 1)
  const found = await tx.query<{ id: number }>({
    text: `SELECT id FROM (${text}) matching ORDER BY id DESC LIMIT ${limit + 1} OFFSET ${offset}`,
    values,
  })
  const ids = found.slice(0, limit).map(({ id }) => id)
  const rows = await deliveriesById(tx, ids)
  return { deliveries: rows.map(deliveryOf), nextCursor: found.length > limit ? ids.at(-1) : undefined }
}

/**
 * A page of the account's deliveries, newest first, and how many match, 10,000 at most; or, with a cursor, 100 with lower ids. The cost
 * grows with the page and the account's endpoints, not with the deliveries; with a lead, with its deliveries. With conditions that no
 * index has a response reads a part of the deliveries: it has the matches among these, and a cursor for the rest. Throws invalid.
 */
export const listDeliveries: Operation<'listDeliveries'> = async ({ database }, request) => {
  const { page, cursor = Number.MAX_SAFE_INTEGER, ...filter } = request
  const { leadReference } = filter
  validate({
    status: isOneOf(STATUSES, filter.status),
    lead_reference:
      leadReference === undefined ||
      UUID_START.test(leadReference) ||
      'must be a UUID, or its first 4 digits or more',
    from: isTime(filter.from),
    to: isTime(filter.to),
    type: isOneOf(EVENT_TYPES, filter.type),
    error: isOneOf(ATTEMPT_ERRORS, filter.error),
  })
  return database.transaction(async (tx) => {
    readInOrder(tx)
    const byLead = await isNarrow(tx, filter)
    const all = { filter, byLead, ...(await boundsOf(tx, filter, cursor)) }
    const unread = byLead ? undefined : await firstUnread(tx, all)
    const scan = { ...all, after: unread ?? all.after }
    const rest = unread === undefined ? undefined : unread + 1
    if (request.cursor !== undefined) {
      const { deliveries, nextCursor = rest } = await read(tx, scan, 0, PER_CURSOR_PAGE)
      return { deliveries, nextCursor, total: 0, totalCapped: false, perPage: PER_CURSOR_PAGE }
    }
    const counted = await count(tx, scan)
    const totals = {
      total: Math.min(counted, MAX_COUNT),
      totalCapped: counted > MAX_COUNT || unread !== undefined,
      perPage: PER_PAGE,
    }
    const offset = (Math.max(1, page) - 1) * PER_PAGE
    if (offset >= totals.total) return { deliveries: [], nextCursor: rest, ...totals }
    const { deliveries, nextCursor = rest } = await read(tx, scan, offset, PER_PAGE)
    return { deliveries, nextCursor, ...totals }
  })
}
