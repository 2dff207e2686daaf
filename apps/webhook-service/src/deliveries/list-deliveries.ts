import { statement, type Transaction } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, readDelivery, readInOrder } from '../delivery-sql'
import type { Operation } from '../operation'
import { buildMatchingQuery, findBounds, findFirstUnread, isNarrow, type Scan } from './matching-deliveries'

const PER_PAGE = 20
const PER_CURSOR_PAGE = 100
const MAX_COUNT = 10_000

/** Counts matching deliveries. Stops counting at `MAX_COUNT + 1`. */
const count = async (tx: Transaction, scan: Scan): Promise<number> => {
  const { text, values } = buildMatchingQuery(scan, MAX_COUNT + 1)
  const [row] = await tx.query<{ count: number }>({
    text: `SELECT count(*) FROM (SELECT FROM (${text}) matching LIMIT ${MAX_COUNT + 1}) counted`,
    values,
  })
  return row!.count
}

const selectById = statement('deliveries-by-id')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ANY ($1::bigint[]) ORDER BY id DESC`

/** Reads a page of matching deliveries. `nextCursor` is undefined if the page contains the last match. */
const read = async (tx: Transaction, scan: Scan, offset: number, limit: number) => {
  const { text, values } = buildMatchingQuery(scan, offset + limit + 1)
  const found = await tx.query<{ id: number }>({
    text: `SELECT id FROM (${text}) matching ORDER BY id DESC LIMIT ${limit + 1} OFFSET ${offset}`,
    values,
  })
  const ids = found.slice(0, limit).map(({ id }) => id)
  const rows = await selectById(tx, ids)
  return { deliveries: rows.map(readDelivery), nextCursor: found.length > limit ? ids.at(-1) : undefined }
}

/**
 * Returns a page of the account's deliveries, newest first, and counts up to 10,000 matches. With a cursor,
 * returns the next 100 deliveries instead, without a count.
 *
 * The cost grows with the position of the page and with the number of the account's endpoints, but not with
 * the number of deliveries. If the filter has a lead reference, the cost grows with the deliveries of the
 * lead. If no index covers the filter, a response reads only a part of the deliveries. The response then
 * contains the matches in this part (possibly none), and a cursor for the rest.
 */
export const listDeliveries: Operation<'listDeliveries'> = async ({ database }, request) => {
  const { page, cursor = Number.MAX_SAFE_INTEGER, ...filter } = request
  return database.transaction(async (tx) => {
    readInOrder(tx)
    const byLead = await isNarrow(tx, filter)
    const all = { filter, byLead, ...(await findBounds(tx, filter, cursor)) }
    const unread = byLead ? undefined : await findFirstUnread(tx, all)
    const scan = { ...all, after: unread ?? all.after }
    // `rest` is the cursor for the deliveries that this response does not read. A response reads only ids
    // below its cursor, so the next response starts with `unread`.
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
