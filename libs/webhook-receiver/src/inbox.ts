import { boundedStore, type Outcome } from './bounded-store'
import type { WebhookEvent } from './events'
import { type HeadersLike, headerOf } from './headers'
import type { RawBody, Secrets } from './signatures'
import { type RefusalCode, type StandardOptions, verifyStandard } from './verify'

/** An event, as a webhook or the feed brought it. */
export interface InboxEvent {
  /** `webhook-id`. */
  id: string
  type: string
  /** `webhook-sequence`; undefined of a test send. */
  sequence: number | undefined
  /** Undefined of an event without a lead. */
  leadReference: string | undefined
  leadVersion: number | undefined
  payload: WebhookEvent
  /** A newer state of the lead was kept before. Only Lead Created comes so: it alone has customer and quotes. */
  stale: boolean
}

/** Where an inbox keeps what it knows. `Tx` is a transaction of your database, in which your work runs too. */
export interface InboxStore<Tx> {
  /** Does the work for an event once: keeps the id and what the work wrote, or, when the work throws, neither. */
  once(id: string, work: (tx: Tx) => Promise<void>): Promise<Outcome>
  /** Records the version of a lead's state, and is true; false when a higher one is recorded. */
  raiseVersion(leadReference: string, version: number, tx: Tx): boolean | Promise<boolean>
  /** The place in the feed up to which all is kept; undefined at first. */
  cursor(): string | undefined | Promise<string | undefined>
  saveCursor(cursor: string): unknown
}

export interface Feed {
  /** Of the API, such as `https://leads.example.com`. */
  url: string
  /** With the scope `events:read`. */
  token: string
  /** `events` of the endpoint; all when absent. */
  types?: readonly string[]
  /** `leads` of the endpoint. */
  leads?: 'all' | 'live' | 'test'
}

export interface InboxOptions<Tx> {
  secret: Secrets
  feed: Feed
  /** Called once for each event, and again when it throws. */
  work(event: InboxEvent, tx: Tx): unknown
  store: InboxStore<Tx>
  /** Numbers between the last event and this one did not come. They are read from the feed, and may be of other types. */
  onGap?(gap: { from: number; to: number }): void
  /** Events behind the cursor are no longer kept: compare your records with the API. When it throws, it is called again. */
  onGone?(): unknown
  /** The feed could not be read after a gap. The next gap or `catchUp` reads it again. */
  onError?(error: unknown): void
}

export interface Received {
  /** What to answer. */
  status: 200 | 400 | 401 | 409
  /** `stale`: a newer state of the lead was kept before. */
  outcome: Outcome | 'stale' | RefusalCode
}

export interface Inbox {
  /** Takes a webhook. Rejects with what the work throws: answer 500. */
  receive(rawBody: RawBody, headers: HeadersLike, options?: StandardOptions): Promise<Received>
  /** Reads the feed to its end. Resolves with the number of events that no webhook had brought. */
  catchUp(): Promise<number>
}

interface FeedEvent {
  id: string
  sequence: number
  type: string
  lead_reference: string
  lead_version: number
  test: boolean
  /** Null when the lead was erased. */
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
  if (!response.ok) throw new Error(`The feed answered ${response.status}: ${json.detail ?? 'no reason'}`)
  return json
}

// Whose data is a state of the lead: a newer one makes it void.
const STATES = ['lead.created', 'lead.updated']

/**
 * Keeps each event once, whether its webhook or the feed brings it first. Call `catchUp` when the program starts and, say, each minute.
 * An endpoint with `types`, `leads` or a filter gets only some numbers: each jump then costs one request.
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
  /** Leads that were erased after the page was requested, which still has them. */
  const erased = new Set<string | undefined>()
  /** All up to this number came or was read; undefined before the feed was read. */
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

  const keepRead = async ({ body, lead_reference, lead_version, ...event }: FeedEvent) => {
    const isWanted = (feed.leads ?? 'all') === 'all' || event.test === (feed.leads === 'test')
    const isErased = erased.has(lead_reference) && event.type !== 'lead.erased'
    if (!body || !isWanted || isErased) return 0
    await inProgress.get(event.id)?.catch(() => undefined)
    const { id, type, sequence } = event
    const lead = { leadReference: lead_reference, leadVersion: lead_version }
    const outcome = await keep({ id, type, sequence, ...lead, payload: body })
    if (outcome === 'in_progress') throw new Error(`Another process works on event ${id}.`)
    return outcome === 'kept' ? 1 : 0
  }

  const readFeed = async (): Promise<number> => {
    let kept = 0
    for (let cursor = await store.cursor(); ; ) {
      erased.clear()
      const page = await readPage(feed, cursor)
      if (page.gone) {
        await onGone?.()
        known = undefined
      }
      for (const event of page.data) {
        kept += await keepRead(event)
        known = Math.max(known ?? 0, event.sequence)
      }
      if (page.next_cursor === cursor) return kept
      cursor = page.next_cursor
      await store.saveCursor(cursor)
    }
  }

  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<number> | undefined
  /** One read at a time; calls meanwhile share the one after it. */
  const catchUp = (): Promise<number> => {
    next ??= last.then(() => {
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
      const number = (name: string) => Number(headerOf(headers, name)) || undefined
      const sequence = number('webhook-sequence')
      const type = payload.type ?? 'lead.created'
      const data = payload.data as { reference?: string; lead_reference?: string }
      const leadReference = data.lead_reference ?? data.reference
      if (type === 'lead.erased') erased.add(leadReference)
      const kept = keep({
        id,
        type,
        sequence,
        leadReference,
        leadVersion: number('webhook-lead-version'),
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

/** For development: a restart loses it all. */
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
