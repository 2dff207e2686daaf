import type { ListEventsRequest, LoggedEvent } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import type { Operation } from '../operation'

/** A page with types looks at so many events, and may be empty behind them. */
const SCANNED = 1000
const MAX_LIMIT = 100
/** Of bodies in a page; one event may have more. */
const PAGE_BYTES = 2 * 1024 * 1024

type Scanned = {
  /** The place of the cursor: its number, and the id of the event that has it. */
  start: number
  startId: string | null
  /** The place before the oldest event that is kept, where the request has no place of this log; otherwise null. */
  oldest: number | null
  /** The number of the newest event. */
  last: number
  number: number | null
  id: string
  type: string
  bytes: number
}

// One snapshot of the counter and the events. The oldest event is looked for only without a place of this log: index entries of pruned
// events are before it until they are vacuumed. A cursor of an event that was pruned can't be compared. `octet_length` reads no body.
const scan = statement<Scanned>('scan-log')`
  WITH counter AS MATERIALIZED (
    SELECT coalesce((SELECT last FROM public.event_counters WHERE account_id = $1), 0) AS last
  ), kept AS MATERIALIZED (
    SELECT last, CASE
      WHEN $4 OR coalesce((SELECT id::text = $3 FROM events WHERE account_id = $1 AND number = $2), $2 <= last) THEN NULL
      ELSE coalesce((SELECT number FROM events WHERE account_id = $1 AND number IS NOT NULL ORDER BY number LIMIT 1), last + 1) - 1
    END AS oldest
    FROM counter
  ), place AS MATERIALIZED (
    SELECT start, oldest, last, (SELECT id FROM events WHERE account_id = $1 AND number = start) AS "startId"
    FROM (SELECT coalesce($2::bigint, oldest, last) AS start, oldest, last FROM kept) found
  )
  SELECT place.*, e.*
  FROM place LEFT JOIN LATERAL (
    SELECT number, id, type, octet_length(body) AS bytes FROM events
    WHERE account_id = $1 AND number > start ORDER BY number LIMIT $5
  ) e ON true
  ORDER BY number`

const readEvents = statement<LoggedEvent>('read-log')`
  SELECT id, number AS sequence, type, lead_reference AS "leadReference", lead_version AS "leadVersion", test,
    created_at AS "createdAt", body
  FROM events WHERE account_id = $1 AND number = ANY ($2::bigint[]) ORDER BY number`

const CURSOR = /^(\d{1,15})\.([0-9a-f-]{36})?(?:\.(\d{1,15}))?$/

/**
 * A place in the log of an account: behind the event with this number. `id` is that event's; missing when it was not kept as the cursor
 * was made. A `gone` has reported the missing events up to the number `reported`. The gateway encodes the cursor, as it does all.
 */
export const cursorOf = (number: number, id?: string | null, reported = 0): string =>
  `${number}.${id ?? ''}${reported > number ? `.${reported}` : ''}`

/** Undefined for what is no cursor. */
const placeOf = (cursor: string) => {
  const [, number, id = '', reported = 0] = CURSOR.exec(cursor) ?? []
  return number === undefined ? undefined : { number: Number(number), id, reported: Number(reported) }
}

/** The events that fit into a page, and the place behind them. */
const cut = (rows: Scanned[], { types, limit }: ListEventsRequest) => {
  const page: Scanned[] = []
  let last: Scanned | undefined
  let bytes = 0
  for (const row of rows) {
    if (types.length === 0 || types.includes(row.type)) {
      bytes += row.bytes
      if (page.length === limit || (page.length > 0 && bytes > PAGE_BYTES)) break
      page.push(row)
    }
    last = row
  }
  return { page, last }
}

/** The rows whose preceding number is missing: the events before them were pruned. */
const behindPruned = (rows: Scanned[], start: number) =>
  rows.filter(({ number }, at) => number !== null && number !== (rows[at - 1]?.number ?? start) + 1)

/**
 * At most `limit` events (1 to 100) behind a cursor or from a sequence on, by number. Throws invalid. A number becomes visible when all
 * lower ones have (`store-events.ts`), so nothing appears behind a cursor.
 *
 * `gone`: events behind that place were pruned, or it is not of this log. Numbers have no gaps, so a missing one is of a pruned event;
 * older events may be kept. A page ends before pruned events. One `gone` stands for those before the next thousand kept events: where
 * every other event was pruned, a reader would get little else. A reader that begins with the oldest event has lost none.
 */
export const listEvents: Operation<'listEvents'> = async (dependencies, request) => {
  const { database } = dependencies
  const { accountId, after, fromSequence, types, limit } = request
  const now = after === 'now'
  const cursor = after === undefined || now ? undefined : placeOf(after)
  const place = fromSequence ? { number: fromSequence - 1, id: null, reported: 0 } : cursor
  validate({
    after: after === undefined || now || cursor !== undefined || 'must be a cursor or now',
    limit: limit <= MAX_LIMIT || `must be at most ${MAX_LIMIT}`,
  })
  const scanUpTo = (count: number) =>
    scan(database, accountId, place?.number ?? null, place?.id ?? null, now, count)
  const rows = await scanUpTo(place && types.length === 0 ? limit : SCANNED)
  const { start, startId, oldest, last: newest } = rows[0]!
  const gone = (nextCursor: string) => ({ events: [], gone: true, nextCursor, ended: false })
  // Of another installation, or of before a restore.
  if (place && oldest !== null) return gone(cursorOf(oldest))
  const found = rows.filter(({ number }) => number !== null)
  const behind = behindPruned(found, start)
  const reported = place ? place.reported : (behind.at(-1)?.number ?? 0)
  const end = behind.find(({ number }) => number! > reported)
  if (end ? end === found[0] : found.length === 0 && start < newest) {
    const last = behindPruned(await scanUpTo(SCANNED), start).at(-1)?.number ?? 0
    return gone(cursorOf((found[0]?.number ?? newest + 1) - 1, undefined, last))
  }
  const { page, last } = cut(end ? found.slice(0, found.indexOf(end)) : found, request)
  const nextCursor = last ? cursorOf(last.number!, last.id, reported) : cursorOf(start, startId, reported)
  const numbers = page.map(({ number }) => number)
  const events = numbers.length === 0 ? [] : await readEvents(database, accountId, numbers)
  // Pruned since the scan.
  if (events.length < numbers.length) return listEvents(dependencies, request)
  return { events, gone: false, nextCursor, ended: (last?.number ?? start) >= newest }
}
