import { LEAD_EVENT_TYPES, type ListEventsRequest, type LoggedEvent } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { holdPlace } from '../admission/admission'
import { type Call, operation } from '../api/operation'
import { cursorPageJson } from '../api/page-json'
import { described, leadReferenceSchema, named, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'
import { cursorOf, placeOf } from '../validation/cursor'
import { integer, oneOf, partial, text } from '../validation/fields'

const RECHECK_MS = 1000
/** Before a poll reads again that could not. */
const RETRY_MS = 500

const EventRecord = described('Event', 'An event in the log of the account.', {
  id: Type.String({
    format: 'uuid',
    description: 'The `webhook-id` of its deliveries.',
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  sequence: Type.Integer({
    description: '1, 2, 3 … in the order of storing; the `webhook-sequence` of its deliveries.',
    examples: [1],
  }),
  type: oneOf(LEAD_EVENT_TYPES, undefined, 'lead.created'),
  lead_reference: leadReferenceSchema(),
  lead_version: Type.Integer({
    description: 'Of two changes of a lead, the one with the higher version is newer.',
    examples: [1],
  }),
  test: Type.Boolean({ description: 'Whether it is of a test lead.', examples: [false] }),
  created_at: timestamp('When it happened.'),
  erased: Type.Boolean({ description: 'Whether it was erased with its lead.', examples: [false] }),
  body: Type.Unsafe({
    type: ['object', 'null'],
    description: 'The body of the webhook; null when the lead was erased.',
    examples: [{ data: { id: 1 } }],
  }),
})

const Query = partial({
  after: text(
    'The `next_cursor` of the answer before, or `now` for what is stored from now on. Without it the oldest events come.',
  ),
  // A cursor is opaque and a receiver knows only numbers: without this it would read the log from its start.
  from_sequence: integer('In place of `after`: begin with the event of this sequence.', undefined, {
    minimum: 1,
  }),
  limit: integer('At most so many events, 50 unless given.', 50, { minimum: 1, maximum: 100 }),
  types: text('Only these types, separated by commas.', 'lead.created,lead.updated'),
  wait: integer('While there is no event, wait for one: up to so many seconds.', 0, {
    minimum: 0,
    maximum: 30,
  }),
})

const typesOf = (given: string | undefined): string[] => {
  if (given === undefined) return []
  const types = given.split(',').map((type) => type.trim())
  const known: readonly string[] = LEAD_EVENT_TYPES
  if (types.every((type) => known.includes(type))) return types
  throw ServiceError.invalid({ types: [`The types must be of: ${LEAD_EVENT_TYPES.join(', ')}.`] })
}

// The body is JSON already, and not parsed.
const itemOf = ({ body, leadReference, leadVersion, createdAt, ...event }: LoggedEvent): Buffer => {
  const { id, sequence, type, test } = event
  const lead = { lead_reference: leadReference, lead_version: leadVersion }
  const erased = body.length === 0
  const head = JSON.stringify({ id, sequence, type, ...lead, test, created_at: createdAt, erased })
  return Buffer.concat([
    Buffer.from(`${head.slice(0, -1)},"body":`),
    erased ? Buffer.from('null') : body,
    Buffer.from('}'),
  ])
}

const itemsOf = (events: LoggedEvent[]): Buffer => {
  const items = events.map(itemOf).flatMap((item) => [Buffer.from(','), item])
  return Buffer.concat([Buffer.from('['), ...items.slice(1), Buffer.from(']')])
}

/** Throws gone. */
const readPage = ({ clients }: Call<unknown>, asked: ListEventsRequest) =>
  clients.logs.share(asked.accountId, JSON.stringify(asked), async () => {
    const { events, nextCursor, gone, ended } = await clients.webhooks.listEvents(asked)
    if (gone)
      throw new ProblemError(
        'gone',
        asked.fromSequence === undefined
          ? 'The cursor is no place in the log of events any more.'
          : `There is no event ${asked.fromSequence} in the log, and it is not the next.`,
        {},
        { oldest_cursor: cursorOf(nextCursor) },
      )
    // With `types` a page may be empty although events follow.
    const isEnd = ended && events.length === 0
    return { isEnd, nextCursor, json: cursorPageJson(itemsOf(events), nextCursor) }
  })

/** The next page that is not the empty end of the log; that one when the time, the connection or this process ends. Throws gone. */
const waitForPage = async (call: Call<unknown>, asked: ListEventsRequest, waitMs: number) => {
  const until = performance.now() + waitMs
  const { clients, limits, reply, recheck } = call
  const { draining } = call.dependencies
  const { wake, sleep, leave } = clients.logs.join(asked.accountId)
  let refusal: ProblemError | undefined
  const timer = setInterval(() => {
    recheck().catch((error: unknown) => {
      // While tokens can't be verified, the poll goes on.
      if (!(error instanceof ProblemError)) return
      refusal = error
      wake()
    })
  }, RECHECK_MS)
  reply.raw.once('close', wake)
  try {
    let page = await readPage(call, asked)
    const isOver = () => performance.now() >= until || draining.aborted || limits.isGone()
    for (let pauseMs = waitMs; page.isEnd && !isOver(); ) {
      await sleep(Math.min(until - performance.now(), pauseMs))
      if (refusal) throw refusal
      if (isOver()) break
      pauseMs = waitMs
      try {
        page = await readPage(call, { ...asked, fromSequence: undefined, after: page.nextCursor })
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error
        pauseMs = RETRY_MS
      }
    }
    return page
  } finally {
    clearInterval(timer)
    leave()
  }
}

export const listEvents = operation({
  route: 'GET /manage/events',
  tag: 'Webhooks',
  scope: 'events:read',
  summary: 'List events',
  description:
    'The log of the account: every event that webhooks carry, in order, from a cursor. A reader is one loop that passes `next_cursor` as `after`: nothing ever appears behind a cursor. A page may be empty while its cursor has moved. With `wait` the response comes as soon as there is an event.',
  query: Query,
  waits: true,
  answer: {
    description: 'The events behind the cursor.',
    schema: named('EventPage', {
      data: Type.Array(EventRecord),
      next_cursor: Type.String({ description: 'Always there.', examples: ['MS4'] }),
    }),
  },
  problems: ['gone'],
  handler: async (call) => {
    const { accountId, reply } = call
    const { after, from_sequence: fromSequence, types, limit = 50, wait = 0 } = await call.valid()
    if (after !== undefined && fromSequence !== undefined)
      throw ServiceError.invalid({ from_sequence: ['Give either after or from_sequence.'] })
    const place = after === undefined || after === 'now' ? after : placeOf(after)
    const asked = { accountId, after: place, fromSequence, types: typesOf(types), limit }
    await holdPlace(reply, call.dependencies.admission.polls(accountId))
    const page = wait > 0 ? await waitForPage(call, asked, wait * 1000) : await readPage(call, asked)
    return page.json
  },
})
