import type { Replay } from '@leadwire/contracts'
import {
  describe,
  enumeration,
  listReplayErrors,
  ReplayWebhookEndpoint,
  truncateInstant,
} from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { pollUntil } from '../api/poll-until'
import { createRecordRenderer } from '../api/render-record'
import { described, IdParams, recordResponse, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'
import { readEndpointChange } from './webhook-endpoints'

const ReplayRecord = described(
  'WebhookEndpointReplay',
  'A replay of a range of the event log to an endpoint.',
  {
    id: Type.Integer({ examples: [1] }),
    state: enumeration(
      ['counted', 'running', 'done', 'cancelled'],
      'State of the replay. `counted`: the dry run has ended.',
      'running',
    ),
    matched: Type.Integer(
      describe(
        'Number of matching events. The number grows until counting ends. No event is sent before then.',
        600,
      ),
    ),
    enqueued: Type.Integer(
      describe(
        'Number of matching events that were sent or are about to be sent. Stays below `matched` if events were delivered or erased in the meantime.',
        200,
      ),
    ),
    created_at: timestamp('When the replay was requested.'),
  },
)

const renderReplay = createRecordRenderer(ReplayRecord)

const COUNT_MS = 2000
const POLL_MS = 50

export const replayWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/replay',
  summary: 'Replay events',
  description:
    'Sends events from a range of the event log to this endpoint. `state` selects which events are sent: by default the events that were not delivered. The replay runs in the background, in the order of the log. It sends at most 100 events per second, and pauses while 100 attempts to the endpoint wait. An event that already has a delivery to the endpoint gets one manual attempt. The retry schedule of the delivery does not change. A delivery whose retry is already due, or whose attempt is running, gets no additional attempt. An event without a delivery, such as an event from before the endpoint existed, gets a delivery with all retries. The current subscription decides which events match: `leads` and `filter` always apply, and `events` applies unless `types` is set. Erased events never match. Without a range, the replay covers all stored events. With a token that is restricted to one endpoint, the replay starts no earlier than the creation of the endpoint, and `types` can name only subscribed types (otherwise 403). An endpoint can have only one running replay. A second request gets a 409, and so does a request for a disabled endpoint. Disabling or deleting the endpoint cancels the replay. The response is sent when all matching events are counted (`matched`), or after 2 s.',
  body: ReplayWebhookEndpoint,
  listErrors: listReplayErrors,
  savesResponse: true,
  answer: recordResponse(ReplayRecord, 'The replay.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const { to, types, dry_run = false } = value
    let from = value.from && truncateInstant(value.from)
    if (call.request.principal.endpointId !== undefined) {
      const { endpoint } = await call.clients.webhooks.retrieveWebhookEndpoint(key, call.limits)
      const { events, createdAt } = endpoint!
      if (types?.some((type) => !events.includes(type)))
        throw new ProblemError(
          'forbidden',
          'A token that is restricted to one webhook endpoint can replay only the event types of the endpoint.',
        )
      if (from === undefined || from < createdAt) from = createdAt
    }
    const requested = await call.clients.webhooks.replayWebhookEndpoint(
      {
        ...key,
        afterSequence: value.after_sequence,
        untilSequence: value.until_sequence,
        from,
        to: to && truncateInstant(to),
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
        until: performance.now() + COUNT_MS,
        pauseMs: POLL_MS,
      },
    )
    const replay = counted.replay!
    // Returns the replay in its first state, because a repeated request must get the same response.
    return renderReplay(dry_run ? replay : { ...replay, state: 'running', enqueued: 0 })
  },
})

const params = Type.Object({
  ...IdParams.properties,
  replay_id: Type.Integer({ minimum: 1, examples: [1] }),
})

const readKey = ({ pathId, accountId }: Pick<Call<unknown>, 'pathId' | 'accountId'>) => ({
  accountId,
  endpointId: pathId(),
  replayId: pathId('replay_id'),
})

export const retrieveReplay = operation({
  route: 'GET /manage/webhook-endpoints/:id/replay/:replay_id',
  summary: 'Retrieve a replay',
  description:
    'Returns the progress of a replay. A replay is deleted 30 days after its end, like deliveries.',
  params,
  answer: recordResponse(ReplayRecord, 'The replay.'),
  handler: async (call) =>
    renderReplay((await call.clients.webhooks.retrieveReplay(readKey(call), call.limits)).replay!),
})

export const cancelReplay = operation({
  route: 'DELETE /manage/webhook-endpoints/:id/replay/:replay_id',
  summary: 'Cancel a replay',
  description: 'Cancels a replay. Enqueued events are still sent. A replay that has ended does not change.',
  params,
  answer: recordResponse(ReplayRecord, 'The replay after the request.'),
  handler: async (call) =>
    renderReplay((await call.clients.webhooks.cancelReplay(readKey(call), call.limits)).replay!),
})
