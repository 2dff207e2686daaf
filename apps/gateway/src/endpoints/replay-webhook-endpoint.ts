import type { Replay } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { pollUntil } from '../api/poll-until'
import { recordOf } from '../api/record'
import { dataOf, described, IdParams, namedPartial, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'
import { describe, instant, integer, oneOf } from '../validation/fields'
import { inMicroseconds } from '../validation/formats'
import { eventTypes } from './endpoint-schemas'
import { readEndpointChange } from './webhook-endpoints'

const number = (description: string, example: number, minimum: number) =>
  integer(description, example, { minimum })

const ReplayWebhookEndpoint = namedPartial('ReplayWebhookEndpointRequest', {
  after_sequence: number('Events with a higher `sequence`.', 1200, 0),
  until_sequence: number('Events up to this `sequence`; by default the last one now.', 1800, 1),
  from: instant(
    'Events created then or later, ISO 8601 with an offset (`created_at` of an event).',
    '2026-11-20T09:00:00Z',
  ),
  to: instant('Events created before.', '2026-11-20T11:00:00Z'),
  types: eventTypes('Only these types, subscribed or not; by default those that the endpoint subscribes to.'),
  state: oneOf(
    ['undelivered', 'exhausted', 'all'],
    '`undelivered` (the default): exhausted deliveries, those that wait for a retry, and events without a delivery to the endpoint; `exhausted`; `all`: also what was delivered.',
    'undelivered',
  ),
  dry_run: Type.Boolean(describe('Only count.', false)),
})

const ReplayRecord = described(
  'WebhookEndpointReplay',
  'A replay of a range of the event log to an endpoint.',
  {
    id: Type.Integer({ examples: [1] }),
    state: oneOf(
      ['counted', 'running', 'done', 'cancelled'],
      '`counted`: a dry run that has ended.',
      'running',
    ),
    matched: Type.Integer(
      describe('Events that match. It grows while they are counted, before the first is sent.', 600),
    ),
    enqueued: Type.Integer(
      describe(
        'Of these, events that were sent or are about to be. Fewer than `matched` at the end: others were delivered or erased meanwhile.',
        200,
      ),
    ),
    created_at: timestamp('When it was requested.'),
  },
)

const replayRecord = recordOf(ReplayRecord)

const COUNT_MS = 2000
const POLL_MS = 50

export const replayWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/replay',
  summary: 'Replay events',
  description:
    'Sends a range of the event log to this endpoint again, or for the first time: in the order of the log, a hundred a second at most, in the background, behind a hundred waiting attempts at most. An event with a delivery gets one more attempt, and its retries keep their schedule; a delivery whose retry is due is left to it. An event without one, such as one from before the endpoint existed, gets a delivery with all retries. The subscription as it is now decides which events match (`leads` and `filter` always, `events` unless `types` are given); erased events never do. Without a range it is everything that is kept; with a token of one endpoint, everything since the endpoint was created. One replay runs at a time at an endpoint: 409 otherwise. Disabling or deleting the endpoint cancels it. The answer waits 2 s at most for the count.',
  body: ReplayWebhookEndpoint,
  savesResponse: true,
  answer: dataOf(ReplayRecord, 'The replay.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const { to, types, dry_run = false } = value
    let from = value.from && inMicroseconds(value.from)
    if (call.request.principal.endpointId !== undefined) {
      const { endpoint } = await call.clients.webhooks.retrieveWebhookEndpoint(key, call.limits)
      const { events, createdAt } = endpoint!
      if (types?.some((type) => !events.includes(type)))
        throw new ProblemError('forbidden', 'A token of one webhook endpoint replays no other types.')
      if (from === undefined || from < createdAt) from = createdAt
    }
    const requested = await call.clients.webhooks.replayWebhookEndpoint(
      {
        ...key,
        afterSequence: value.after_sequence,
        untilSequence: value.until_sequence,
        from,
        to: to && inMicroseconds(to),
        types: types && { types },
        state: value.state,
        dryRun: dry_run,
      },
      call.limits,
    )
    const replayId = requested.replay!.id
    const counted = await pollUntil<{ replay?: Replay | undefined }>(
      requested,
      () => call.clients.webhooks.retrieveReplay({ ...key, replayId }, call.limits),
      {
        isComplete: ({ replay }) => !replay!.counting,
        ...{ until: performance.now() + COUNT_MS, pauseMs: POLL_MS },
      },
    )
    const replay = counted.replay!
    // As it was requested, however far it is: a saved response must be the same later.
    return replayRecord(dry_run ? replay : { ...replay, state: 'running', enqueued: 0 })
  },
})

const params = Type.Object({
  ...IdParams.properties,
  replay_id: Type.Integer({ minimum: 1, examples: [1] }),
})

const keyOf = ({ pathId, accountId }: Pick<Call<unknown>, 'pathId' | 'accountId'>) => ({
  accountId,
  endpointId: pathId(),
  replayId: pathId('replay_id'),
})

export const retrieveReplay = operation({
  route: 'GET /manage/webhook-endpoints/:id/replay/:replay_id',
  summary: 'Retrieve a replay',
  description: 'How far it is. It is deleted some time after its end, as deliveries are (30 days).',
  params,
  answer: dataOf(ReplayRecord, 'The replay.'),
  handler: async (call) =>
    replayRecord((await call.clients.webhooks.retrieveReplay(keyOf(call), call.limits)).replay!),
})

export const cancelReplay = operation({
  route: 'DELETE /manage/webhook-endpoints/:id/replay/:replay_id',
  summary: 'Cancel a replay',
  description: 'What is enqueued is still sent. A replay that has ended stays as it is.',
  params,
  answer: dataOf(ReplayRecord, 'The replay as it is now.'),
  handler: async (call) =>
    replayRecord((await call.clients.webhooks.cancelReplay(keyOf(call), call.limits)).replay!),
})
