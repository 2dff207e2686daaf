import { describe, RecoverWebhookEndpoint, truncateInstant } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { named, recordResponse } from '../api/schemas'
import { readEndpointChange } from './webhook-endpoints'

const Recovered = named('RecoveredDeliveries', {
  recovered: Type.Integer(describe('Number of deliveries to attempt. Counting stops at 10,000.', 12)),
  recovered_capped: Type.Boolean({
    description: 'Whether more than `recovered` deliveries may match.',
    examples: [false],
  }),
})

const renderRecovered = createRecordRenderer(Recovered)

export const recoverWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/recover',
  summary: 'Retry the deliveries to a webhook endpoint',
  description:
    'Requests one manual attempt for each existing delivery that `state` selects (by default exhausted deliveries) and whose event was created at or after `since`. Only events that match the current `events`, `leads` and `filter` of the endpoint are included. Erased events are excluded. Ten attempts start per second, oldest events first. Retry schedules do not change. A delivery whose retry is already due, or whose attempt is running, gets no additional attempt. The recovery continues in the background: retrieve the endpoint to see the progress (`recovery`). Disabling or deleting the endpoint stops the recovery. Repeating the request adds no second attempt to a delivery that still waits for an attempt.',
  body: RecoverWebhookEndpoint,
  savesResponse: true,
  answer: recordResponse(Recovered, 'The number of deliveries to attempt.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const asked = { ...key, since: truncateInstant(value.since), state: value.state }
    return renderRecovered(await call.clients.webhooks.recoverWebhookEndpoint(asked, call.limits))
  },
})
