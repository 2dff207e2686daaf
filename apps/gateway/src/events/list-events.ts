import { LEAD_EVENT_TYPES, type ListEventsRequest, type LoggedEvent } from '@leadwire/contracts'
import { decodeCursor, encodeCursor, enumeration, integer, partial, text } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { holdPlace } from '../admission/admission'
import { type Call, operation } from '../api/operation'
import { cursorPageJson } from '../api/page-json'
import { described, leadReferenceSchema, named, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'

const RECHECK_MS = 1000
/** The pause after a read that failed because webhook-service is unavailable. */
const RETRY_MS = 500

const EventRecord = described('Event', 'An event in the event log of the account.', {
  id: Type.String({
    format: 'uuid',
    description: 'The ID of the event. Webhooks carry it as `webhook-id`.',
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  sequence: Type.Integer({
    description:
      'Position of the event in the log of the account: 1, 2, 3 … in the order in which events are stored. Webhooks carry it as `webhook-sequence`.',
    examples: [1],
  }),
  type: enumeration(LEAD_EVENT_TYPES, undefined, 'lead.created'),
  lead_reference: leadReferenceSchema(),
  lead_version: Type.Integer({
    description: 'Version of the lead after the event. A higher version is newer.',
    examples: [1],
  }),
  test: Type.Boolean({ description: 'Whether the event is about a test lead.', examples: [false] }),
  created_at: timestamp('When the event took place.'),
  erased: Type.Boolean({
    description: 'Whether the event was erased together with its lead.',
    examples: [false],
  }),
  body: Type.Unsafe({
    type: ['object', 'null'],
    description: 'The body of the webhook. null if the event was erased.',
    examples: [{ data: { id: 1 } }],
  }),
})

const Query = partial({
  after: text(
    'The `next_cursor` of the previous response, or `now` to read only events that are stored from now on. Omit it for the oldest events.',
  ),
  // Receivers know the sequence numbers of webhooks, but no cursor. Without this parameter, a receiver would
  // have to read the log from the start.
  from_sequence: integer('Starts at the event with this `sequence`. Not allowed with `after`.', undefined, {
    minimum: 1,
  }),
  limit: integer('Maximum number of events. Default 50.', 50, { minimum: 1, maximum: 100 }),
  types: text('Only events of these types, separated by commas.', 'lead.created,lead.updated'),
  wait: integer('How many seconds to wait for an event if none is available. Default 0.', 0, {
    minimum: 0,
    maximum: 30,
  }),
})

const readTypes = (given: string | undefined): string[] => {
  if (given === undefined) return []
  const types = given.split(',').map((type) => type.trim())
  const known: readonly string[] = LEAD_EVENT_TYPES
  if (types.every((type) => known.includes(type))) return types
  throw ServiceError.invalid({
    types: [`The selected types are invalid. They may be: ${LEAD_EVENT_TYPES.join(', ')}.`],
  })
}

// Inserts the body unchanged, because the body is already JSON.
const renderEvent = ({ body, leadReference, leadVersion, createdAt, ...event }: LoggedEvent): Buffer => {
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

const renderEvents = (events: LoggedEvent[]): Buffer => {
  const items = events.map(renderEvent).flatMap((item) => [Buffer.from(','), item])
  return Buffer.concat([Buffer.from('['), ...items.slice(1), Buffer.from(']')])
}

/**
 * Reads a page of the log. Throws `gone` if the log does not have the position that the request names by a
 * cursor or a sequence number.
 */
const readPage = ({ clients }: Call<unknown>, asked: ListEventsRequest) =>
  clients.logs.share(asked.accountId, JSON.stringify(asked), async () => {
    const { events, nextCursor, gone, ended } = await clients.webhooks.listEvents(asked)
    if (gone)
      throw new ProblemError(
        'gone',
        asked.fromSequence === undefined
          ? 'The cursor is not in the event log.'
          : `Event ${asked.fromSequence} is not in the event log, and is not the next new event.`,
        {},
        { oldest_cursor: encodeCursor(nextCursor) },
      )
    // With `types`, a page may be empty although more events follow it.
    const isEnd = ended && events.length === 0
    return { isEnd, nextCursor, json: cursorPageJson(renderEvents(events), nextCursor) }
  })

/**
 * Waits for a page that has events or advances the cursor. Returns the empty page at the end of the log if
 * the time is over, the client disconnects, or this process drains. Throws `gone` as `readPage` does. Also
 * throws if the token is no longer valid.
 */
const waitForPage = async (call: Call<unknown>, asked: ListEventsRequest, waitMs: number) => {
  const until = performance.now() + waitMs
  const { clients, limits, reply, recheck } = call
  const { draining } = call.dependencies
  const { wake, sleep, leave } = clients.logs.join(asked.accountId)
  let refusal: ProblemError | undefined
  const timer = setInterval(() => {
    recheck().catch((error: unknown) => {
      // Continues the poll if the token cannot be verified at the moment.
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
    'Returns events from the event log of the account. The log has every event about a lead, in the order of `sequence`. To read the log, repeat the request with `next_cursor` as `after`. No event is ever added before a cursor that was returned. With `types`, a page may be empty although its `next_cursor` has advanced. With `wait`, the response is sent as soon as an event is available.',
  query: Query,
  waits: true,
  answer: {
    description: 'The events after the cursor.',
    schema: named('EventPage', {
      data: Type.Array(EventRecord),
      next_cursor: Type.String({
        description: 'The cursor for the next request. Always present.',
        examples: ['MS4'],
      }),
    }),
  },
  problems: ['gone'],
  handler: async (call) => {
    const { accountId, reply } = call
    const { after, from_sequence: fromSequence, types, limit = 50, wait = 0 } = await call.valid()
    if (after !== undefined && fromSequence !== undefined)
      throw ServiceError.invalid({ from_sequence: ['Send either from_sequence or after, not both.'] })
    const place = after === undefined || after === 'now' ? after : decodeCursor(after)
    const asked = { accountId, after: place, fromSequence, types: readTypes(types), limit }
    await holdPlace(reply, call.dependencies.admission.polls(accountId))
    const page = wait > 0 ? await waitForPage(call, asked, wait * 1000) : await readPage(call, asked)
    return page.json
  },
})
