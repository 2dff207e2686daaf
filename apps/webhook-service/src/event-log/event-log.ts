import { type ListEventsRequest, type ListEventsResponse, LOGGED_SUBJECT } from '@leadwire/contracts'
import { createAlarm, type Database } from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { validate } from '../arguments'
import { statement } from '../statement'
import { cursorOf, type Place, placeOf } from './log-cursor'

/** A page with types looks at so many events, and may be empty behind them. */
const SCANNED = 1000
const MAX_LIMIT = 100
/** Of bodies in a page; one event may have more. */
const PAGE_BYTES = 2 * 1024 * 1024
/** How long a lost message of NATS delays a waiting reader. */
const POLL_MS = 5000

type Scanned = {
  /** The place of the cursor: its number, and the id of the event that has it. */
  start: number
  startId: string | null
  /** The place before the oldest event that is kept. */
  oldest: number
  /** The number of the newest event. */
  last: number
  number: number | null
  id: string
  type: string
  bytes: number
}

// One snapshot of the counter and the events. The sub-selects are one index entry each; `octet_length` reads no body.
const scan = statement<Scanned>('scan-log')`
  SELECT start, (SELECT id FROM events WHERE account_id = $1 AND number = start) AS "startId", oldest, last, e.*
  FROM (
    SELECT oldest, last, CASE WHEN $3 THEN last ELSE coalesce($2::bigint, oldest) END AS start
    FROM (
      SELECT last, coalesce((SELECT number FROM events WHERE account_id = $1 AND number IS NOT NULL ORDER BY number LIMIT 1),
        last + 1) - 1 AS oldest
      FROM (SELECT coalesce((SELECT last FROM public.event_counters WHERE account_id = $1), 0) AS last) c
    ) l
  ) place LEFT JOIN LATERAL (
    SELECT number, id, type, octet_length(body) AS bytes FROM events
    WHERE account_id = $1 AND number > start ORDER BY number LIMIT $4
  ) e ON true
  ORDER BY number`

const readEvents = statement<{
  id: string
  sequence: number
  type: string
  leadReference: string
  leadVersion: number
  test: boolean
  createdAt: string
  body: Buffer
}>('read-log')`
  SELECT id, number AS sequence, type, lead_reference AS "leadReference", lead_version AS "leadVersion", test,
    created_at AS "createdAt", body
  FROM events WHERE id = ANY ($1::uuid[]) ORDER BY number`

interface Asked {
  accountId: number
  place: Place | undefined
  now: boolean
  types: string[]
  limit: number
}

type Page = ListEventsResponse & { place: Place; ended: boolean }

/** The events that fit into a page, and the place behind them. */
const cut = (rows: Scanned[], { types, limit }: Asked) => {
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

const readPage = async (database: Database, asked: Asked): Promise<Page> => {
  const { accountId, place, now, types, limit } = asked
  const scanned = types.length === 0 ? limit : SCANNED
  const rows = await scan(database, accountId, place?.number ?? null, now, scanned)
  const { start, startId, oldest, last: newest } = rows[0]!
  // A cursor whose event is not the one that it named is of another log: of another installation, or of before a restore.
  const isPlace = place?.isSequence
    ? start > oldest && start <= newest
    : startId !== null && startId === place?.id
  const isKnown = !place || start === oldest || isPlace
  if (!isKnown) {
    const place = { number: oldest, id: undefined }
    return { events: [], gone: true, place, nextCursor: cursorOf(place), ended: true }
  }
  const found = rows.filter(({ number }) => number !== null)
  const { page, last } = cut(found, asked)
  const next = last ? { number: last.number!, id: last.id } : { number: start, id: startId ?? undefined }
  const events =
    page.length === 0
      ? []
      : await readEvents(
          database,
          page.map(({ id }) => id),
        )
  // Pruned since the scan.
  if (events.length < page.length) return readPage(database, asked)
  const ended = found.length < scanned && last === found.at(-1)
  return { events, gone: false, place: next, nextCursor: cursorOf(next), ended }
}

/**
 * The logs of all accounts. A number becomes visible when all lower ones have (`store-events.ts`), so nothing appears behind a cursor.
 * Readers that wait hold no connection of the database; the copy that stores events wakes them by a message of NATS.
 */
export const createEventLog = ({ database, draining }: { database: Database; draining: AbortSignal }) => {
  const waiting = new Map<number, Set<() => void>>()
  const wakeAll = (accountId: number) => {
    for (const wake of waiting.get(accountId) ?? []) wake()
  }
  draining.addEventListener('abort', () => [...waiting.keys()].forEach(wakeAll))

  // Readers at the same place, such as those that wait at the end, share a page, unless it was read before they were woken.
  let wakes = 0
  const reading = new Map<string, Promise<Page>>()
  const share = (asked: Asked): Promise<Page> => {
    const key = JSON.stringify([wakes, asked])
    const page = reading.get(key) ?? readPage(database, asked).finally(() => reading.delete(key))
    reading.set(key, page)
    return page
  }

  const waitForPage = async (asked: Asked, waitMs: number, signal: AbortSignal): Promise<Page> => {
    const until = performance.now() + waitMs
    const { wake, sleep } = createAlarm()
    const others = waiting.get(asked.accountId) ?? new Set()
    waiting.set(asked.accountId, others.add(wake))
    signal.addEventListener('abort', wake)
    try {
      for (let now = asked; ; ) {
        const page = await share(now)
        const leftMs = until - performance.now()
        const isOver = leftMs <= 0 || draining.aborted || signal.aborted
        if (page.gone || page.events.length > 0 || !page.ended || isOver) return page
        now = { ...asked, now: false, place: page.place }
        await sleep(Math.min(leftMs, POLL_MS))
      }
    } finally {
      signal.removeEventListener('abort', wake)
      others.delete(wake)
      if (others.size === 0) waiting.delete(asked.accountId)
    }
  }

  return {
    /**
     * At most `limit` events (1 to 100) behind a cursor or from a sequence on, by number; waits up to `waitMs` for the first. `gone`: that
     * is no place in the log of this account. Throws invalid.
     */
    list: async (request: ListEventsRequest, signal: AbortSignal): Promise<ListEventsResponse> => {
      const { accountId, after, fromSequence, types, limit, waitMs = 0 } = request
      const cursor = after === undefined || after === 'now' ? undefined : placeOf(after)
      const named = fromSequence && { number: fromSequence - 1, id: undefined, isSequence: true }
      const place = named || cursor
      validate({
        after: after === undefined || after === 'now' || cursor !== undefined || 'must be a cursor or now',
        limit: limit <= MAX_LIMIT || `must be at most ${MAX_LIMIT}`,
      })
      const asked = { accountId, place, now: after === 'now', types, limit }
      const page = waitMs > 0 ? await waitForPage(asked, waitMs, signal) : await share(asked)
      const { events, nextCursor, gone } = page
      return { events, nextCursor, gone }
    },
    /** Wakes readers when this copy or another has stored events. */
    connect: (nats: NatsConnection): void => {
      nats.subscribe(LOGGED_SUBJECT, {
        callback: (error, message) => {
          if (error) return
          wakes += 1
          for (const accountId of message.json<number[]>()) wakeAll(accountId)
        },
      })
    },
  }
}

export type EventLog = ReturnType<typeof createEventLog>
