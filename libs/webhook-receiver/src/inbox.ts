import { boundedStore, type Outcome } from './bounded-store'
import type { WebhookEvent } from './events'
import { type HeadersLike, readHeader } from './headers'
import type { RawBody, Secrets } from './signatures'
import { type RefusalCode, type StandardOptions, verifyStandard } from './verify'

/** An event from a webhook or from the feed. */
export interface InboxEvent {
  /** The `webhook-id`. */
  id: string
  type: string
  /** The `webhook-sequence`. Undefined for a test send. */
  sequence: number | undefined
  /** Undefined for an event without a lead. */
  leadReference: string | undefined
  leadVersion: number | undefined
  payload: WebhookEvent
  /**
   * Whether the inbox has kept a newer state of the lead before this event. `work` is called even for a stale
   * `lead.created`, because only `lead.created` has customer and quotes. `work` is not called for a stale
   * `lead.updated`.
   */
  stale: boolean
}

/** The state of an inbox in your database. `Tx` is the type of the transaction that your work shares. */
export interface InboxStore<Tx> {
  /**
   * Runs `work` once for each event id. Commits the id and the writes of `work` in one transaction, or
   * nothing if `work` throws.
   */
  once(id: string, work: (tx: Tx) => Promise<void>): Promise<Outcome>
  /**
   * Records the version of a lead and returns true. If a higher version was recorded before, records nothing
   * and returns false.
   */
  raiseVersion(leadReference: string, version: number, tx: Tx): boolean | Promise<boolean>
  /**
   * Returns the saved cursor of the feed, or undefined if none was saved yet. The inbox does not read the
   * events before this cursor again.
   */
  cursor(): string | undefined | Promise<string | undefined>
  saveCursor(cursor: string): unknown
}

export interface Feed {
  /** The base URL of the API, such as `https://leads.example.com`. */
  url: string
  /** A token with the scope `events:read`. */
  token: string
  /** The event types that the endpoint subscribes to. Default: all types. */
  types?: readonly string[]
  /** The setting `leads` of the endpoint. Default: all. */
  leads?: 'all' | 'live' | 'test'
}

export interface InboxOptions<Tx> {
  secret: Secrets
  feed: Feed
  /** Called once for each event. If `work` throws, the next attempt calls `work` again. */
  work(event: InboxEvent, tx: Tx): unknown
  store: InboxStore<Tx>
  /**
   * Called if the sequence number of a webhook shows that earlier events have not arrived. The inbox then
   * reads the feed. A gap need not be an error: the missing events may be of types that the endpoint does not
   * get.
   */
  onGap?(gap: { from: number; to: number }): void
  /**
   * Called if the API no longer stores the events after the cursor. Compare your records with the API. If
   * `onGone` throws, the next read of the feed calls it again.
   */
  onGone?(): unknown
  /** Called if the feed could not be read after a gap. The next gap or `catchUp` reads the feed again. */
  onError?(error: unknown): void
}

export interface Received {
  /** The status to respond with. */
  status: 200 | 400 | 401 | 409
  /** `stale` means that the inbox has already kept a newer state of the lead. */
  outcome: Outcome | 'stale' | RefusalCode
}

export interface Inbox {
  /** Verifies and keeps a webhook. Rejects with the error of `work`. Respond with 500 in this case. */
  receive(rawBody: RawBody, headers: HeadersLike, options?: StandardOptions): Promise<Received>
  /** Reads the feed to its end. Resolves to the number of events that had not arrived as a webhook. */
  catchUp(): Promise<number>
}

interface FeedEvent {
  id: string
  sequence: number
  type: string
  lead_reference: string
  lead_version: number
  test: boolean
  /** Null if the lead was erased. */
  body: WebhookEvent | null
}

interface Page {
  data: FeedEvent[]
  next_cursor: string
  gone?: boolean
}

const TIMEOUT_MS = 30_000

const readPage = async ({ url, token, types }: Feed, cursor: string | undefined): Promise<Page> => {
  const query = new URLSearchParams({
    limit: '100',
    ...(cursor !== undefined && { after: cursor }),
    ...(types && { types: types.join() }),
  })
  const response = await fetch(`${url.replace(/\/+$/, '')}/manage/events?${query}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const json = Object(await response.json().catch(() => undefined))
  if (response.status === 410) return { data: [], next_cursor: json.oldest_cursor, gone: true }
  if (!response.ok)
    throw new Error(`The feed responded with ${response.status}: ${json.detail ?? 'no reason given'}`)
  return json
}

// The types of events whose data is a state of the lead. A newer state replaces an older one.
const STATES = ['lead.created', 'lead.updated']

/**
 * Creates an inbox, which keeps each event once, whether its webhook or the feed delivers it first. Call
 * `catchUp` when the program starts, and regularly afterwards, for example every minute. An endpoint that
 * selects events by type, `leads` or a filter gets only some of the sequence numbers. Each gap then costs at
 * least one request to the feed.
 */
export const createInbox = <Tx>({
  secret,
  feed,
  work,
  store,
  onGap,
  onGone,
  onError = console.error,
}: InboxOptions<Tx>): Inbox => {
  const inProgress = new Map<string, Promise<unknown>>()
  /**
   * The leads that were erased after the current page of the feed was requested. The page may still have
   * their events, which must not be kept.
   */
  const erased = new Set<string | undefined>()
  /** The sequence number up to which all events are kept. Undefined until the feed was read. */
  let known: number | undefined

  const keep = async (event: Omit<InboxEvent, 'stale'>): Promise<Outcome | 'stale'> => {
    const { id, type, leadReference, leadVersion } = event
    let refused = false
    const outcome = await store.once(id, async (tx) => {
      const stale =
        STATES.includes(type) &&
        leadReference !== undefined &&
        leadVersion !== undefined &&
        !(await store.raiseVersion(leadReference, leadVersion, tx))
      refused = stale && type === 'lead.updated'
      if (!refused) await work({ ...event, stale }, tx)
    })
    return refused ? 'stale' : outcome
  }

  const keepFromFeed = async ({ body, lead_reference, lead_version, ...event }: FeedEvent) => {
    const isWanted = (feed.leads ?? 'all') === 'all' || event.test === (feed.leads === 'test')
    const isErased = erased.has(lead_reference) && event.type !== 'lead.erased'
    if (!body || !isWanted || isErased) return 0
    await inProgress.get(event.id)?.catch(() => undefined)
    const { id, type, sequence } = event
    const lead = { leadReference: lead_reference, leadVersion: lead_version }
    const outcome = await keep({ id, type, sequence, ...lead, payload: body })
    if (outcome === 'in_progress')
      throw new Error(`Another process is working on event ${id}. Try again later.`)
    return outcome === 'kept' ? 1 : 0
  }

  const readFeed = async (): Promise<number> => {
    let kept = 0
    let cursor = await store.cursor()
    for (;;) {
      erased.clear()
      const page = await readPage(feed, cursor)
      if (page.gone) {
        await onGone?.()
        known = undefined
      }
      for (const event of page.data) {
        kept += await keepFromFeed(event)
        known = Math.max(known ?? 0, event.sequence)
      }
      if (page.next_cursor === cursor) return kept
      cursor = page.next_cursor
      await store.saveCursor(cursor)
    }
  }

  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<number> | undefined
  /** Reads the feed when the current read, if any, has ended. All calls until then share the next read. */
  const catchUp = (): Promise<number> => {
    if (next) return next
    next = last.then(() => {
      const reading = readFeed()
      last = reading.catch(() => undefined)
      next = undefined
      return reading
    })
    return next
  }

  const noteSequence = (sequence: number | undefined) => {
    if (sequence === undefined || (known !== undefined && sequence <= known)) return
    if (known !== undefined && sequence === known + 1) {
      known = sequence
      return
    }
    if (known !== undefined) onGap?.({ from: known + 1, to: sequence - 1 })
    catchUp().catch(onError)
  }

  return {
    receive: async (rawBody, headers, options) => {
      const result = verifyStandard<WebhookEvent>(rawBody, headers, secret, options)
      if (!result.ok) return { status: result.code === 'malformed_body' ? 400 : 401, outcome: result.code }
      const { id, payload } = result
      if (inProgress.has(id)) return { status: 409, outcome: 'in_progress' }
      const readNumber = (name: string) => Number(readHeader(headers, name)) || undefined
      const sequence = readNumber('webhook-sequence')
      const type = payload.type ?? 'lead.created'
      const data = payload.data as { reference?: string; lead_reference?: string }
      const leadReference = data.lead_reference ?? data.reference
      if (type === 'lead.erased') erased.add(leadReference)
      const kept = keep({
        id,
        type,
        sequence,
        leadReference,
        leadVersion: readNumber('webhook-lead-version'),
        payload,
      })
      inProgress.set(id, kept)
      const outcome = await kept.finally(() => inProgress.delete(id))
      if (outcome === 'in_progress') return { status: 409, outcome }
      noteSequence(sequence)
      return { status: 200, outcome }
    },
    catchUp,
  }
}

/** Creates a store in memory for development. A restart loses its content. */
export const memoryInboxStore = (): InboxStore<undefined> => {
  const ids = boundedStore()
  const versions = new Map<string, number>()
  let place: string | undefined
  return {
    once: (id, work) => ids.once(id, () => work(undefined)),
    raiseVersion: (leadReference, version) => {
      if (version < (versions.get(leadReference) ?? 0)) return false
      versions.set(leadReference, version)
      return true
    },
    cursor: () => place,
    saveCursor: (cursor) => {
      place = cursor
    },
  }
}
