import type { ListEventsRequest, LoggedEvent } from '@leadwire/contracts'
import { ServiceError, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'

/**
 * How many events a page reads if it is filtered by type. Such a page may be empty and still have a next
 * page.
 */
const SCANNED = 1000
/** The maximum number of bytes of bodies in a page. A larger event is the only event of its page. */
const PAGE_BYTES = 2 * 1024 * 1024

type Scanned = {
  /** The number after which the page starts, and the id of the event that has this number. */
  start: number
  startId: string | null
  /**
   * The number before the oldest event that is kept. Null if the request starts at a valid position of this
   * log, or with `now`.
   */
  oldest: number | null
  /** The number of the newest event. */
  last: number
  number: number | null
  id: string
  type: string
  bytes: number
}

// Uses one statement, so that the counter and the events are from one snapshot. Searches for the oldest event
// only if the request has no valid position. This search may be slow, because it also reads the entries of
// pruned events, which stay in the index until the next vacuum. If the event of a position was pruned, the id
// of the position is not checked. `octet_length` returns the length without reading the body.
const scan = statement<Scanned>('scan-log')`
  WITH counter AS MATERIALIZED (
    SELECT coalesce((SELECT last FROM public.event_counters WHERE account_id = :accountId), 0) AS last
  ), kept AS MATERIALIZED (
    SELECT last, CASE
      WHEN :isNow OR coalesce(
        (SELECT id::text = :id FROM events WHERE account_id = :accountId AND number = :number), :number <= last
      ) THEN NULL
      ELSE coalesce(
        (SELECT number FROM events WHERE account_id = :accountId AND number IS NOT NULL ORDER BY number LIMIT 1), last + 1
      ) - 1
    END AS oldest
    FROM counter
  ), place AS MATERIALIZED (
    SELECT start, oldest, last,
      (SELECT id FROM events WHERE account_id = :accountId AND number = start) AS "startId"
    FROM (SELECT coalesce(:number::bigint, oldest, last) AS start, oldest, last FROM kept) found
  )
  SELECT place.*, e.*
  FROM place LEFT JOIN LATERAL (
    SELECT number, id, type, octet_length(body) AS bytes FROM events
    WHERE account_id = :accountId AND number > start ORDER BY number LIMIT :limit
  ) e ON true
  ORDER BY number`

const readEvents = statement<LoggedEvent>('read-log')`
  SELECT id, number AS sequence, type, lead_reference AS "leadReference", lead_version AS "leadVersion", test,
    created_at AS "createdAt", body
  FROM events WHERE account_id = :accountId AND number = ANY (:numbers::bigint[]) ORDER BY number`

const CURSOR = /^(\d{1,15})\.([0-9a-f-]{36})?(?:\.(\d{1,15}))?$/

/**
 * Formats a cursor: the position in the log of an account after the event with this number. `id` is the id of
 * this event. The id is missing if the event was already pruned. `reported` is the number up to which a
 * `gone` response has reported all missing events. The gateway encodes this cursor like all other cursors.
 */
export const formatCursor = (number: number, id?: string | null, reported = 0): string =>
  `${number}.${id ?? ''}${reported > number ? `.${reported}` : ''}`

/** Parses a cursor. Returns undefined if the text is not a cursor. */
const parseCursor = (cursor: string) => {
  const [, number, id = '', reported = 0] = CURSOR.exec(cursor) ?? []
  return number === undefined ? undefined : { number: Number(number), id, reported: Number(reported) }
}

/** Parses `after`. Returns undefined for `now`, and if the request has no `after`. Throws `invalid`. */
const parseAfter = (after: string | undefined) => {
  if (after === undefined || after === 'now') return undefined
  const cursor = parseCursor(after)
  if (!cursor) throw ServiceError.invalid({ after: ['The after must be a cursor, or the word `now`.'] })
  return cursor
}

/** A position in the log: the number of an event, and its id if the event is kept. */
type Position = { number: number; id: string | null }

/** Returns the events that fit into a page, and the position of the last event that was read. */
const cutPage = (rows: Scanned[], { types, limit }: ListEventsRequest, start: Position) => {
  const page: Scanned[] = []
  let end = start
  let bytes = 0
  for (const row of rows) {
    if (types.length === 0 || types.includes(row.type)) {
      bytes += row.bytes
      if (page.length === limit || (page.length > 0 && bytes > PAGE_BYTES)) break
      page.push(row)
    }
    end = { number: row.number!, id: row.id }
  }
  return { page, end }
}

/**
 * Returns the rows that follow a gap. Numbers are assigned without gaps, so the events in a gap were pruned.
 */
const findRowsAfterGaps = (rows: Scanned[], start: number) =>
  rows.filter(({ number }, index) => number !== null && number !== (rows[index - 1]?.number ?? start) + 1)

/**
 * Returns the events after a cursor or from a sequence number on, at most `limit` (1 to 100), in the order of
 * their numbers. A number becomes visible only after all lower numbers (`appendEvents`), so a reader that
 * follows cursors misses no event. Throws `invalid`.
 *
 * `gone` reports that events after the position were pruned, or that the position is not from this log. A
 * page ends before a gap, and the next response reports the gap. One `gone` response reports all gaps among
 * the next 1,000 kept events. Otherwise most responses would be `gone` in a log in which each second event
 * was pruned. A reader that starts with the oldest event has missed no event, so it gets no `gone`.
 */
export const listEvents: Operation<'listEvents'> = async (dependencies, request) => {
  const { database } = dependencies
  const { accountId, after, fromSequence, types, limit } = request
  const isNow = after === 'now'
  const cursor = parseAfter(after)
  const position = fromSequence ? { number: fromSequence - 1, id: null, reported: 0 } : cursor
  const { number, id } = position ?? { number: null, id: null }
  const readRows = (count: number) => scan(database, { accountId, number, id, isNow, limit: count })
  const rows = await readRows(position && types.length === 0 ? limit : SCANNED)
  const { start, startId, oldest, last: newest } = rows[0]!
  const reportGone = (nextCursor: string) => ({ events: [], gone: true, nextCursor, ended: false })
  // The position is from another installation, or from before a restore.
  if (position && oldest !== null) return reportGone(formatCursor(oldest))

  const found = rows.filter(({ number }) => number !== null)
  const afterGaps = findRowsAfterGaps(found, start)
  const reported = position ? position.reported : (afterGaps.at(-1)?.number ?? 0)
  const firstUnreported = afterGaps.find(({ number }) => number! > reported)
  const startsWithGap = found.length === 0 ? start < newest : firstUnreported === found[0]
  if (startsWithGap) {
    const lastAfterGap = findRowsAfterGaps(await readRows(SCANNED), start).at(-1)
    const nextNumber = found[0]?.number ?? newest + 1
    return reportGone(formatCursor(nextNumber - 1, undefined, lastAfterGap?.number ?? 0))
  }
  const beforeGap = firstUnreported ? found.slice(0, found.indexOf(firstUnreported)) : found
  const { page, end } = cutPage(beforeGap, request, { number: start, id: startId })
  const numbers = page.map(({ number }) => number)
  const events = numbers.length === 0 ? [] : await readEvents(database, { accountId, numbers })
  // Some events were pruned after the scan, so the page is read again.
  if (events.length < numbers.length) return listEvents(dependencies, request)
  const nextCursor = formatCursor(end.number, end.id, reported)
  return { events, gone: false, nextCursor, ended: end.number >= newest }
}
