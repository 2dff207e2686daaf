import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, named } from '../api/schemas'
import { describe, instant, oneOf } from '../validation/fields'
import { inMicroseconds } from '../validation/formats'
import { readEndpointChange } from './webhook-endpoints'

const RecoverWebhookEndpoint = named('RecoverWebhookEndpointRequest', {
  since: instant(
    'Deliveries of events created then or later, ISO 8601 with an offset.',
    '2026-11-20T00:00:00Z',
  ),
  state: Type.Optional(
    oneOf(
      ['undelivered', 'exhausted', 'all'],
      '`exhausted` (the default); `undelivered`: also those that wait for a retry, without waiting for its time; `all`: also those that were delivered.',
      'undelivered',
    ),
  ),
})

const Recovered = named('RecoveredDeliveries', {
  recovered: Type.Integer(
    describe('How many deliveries are attempted again; 10,000 at most are counted.', 12),
  ),
  recovered_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
})

const recoveredRecord = recordOf(Recovered)

export const recoverWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/recover',
  summary: 'Attempt deliveries again',
  description:
    'One more attempt of every delivery of this endpoint that is of the `state`, ten a second, the oldest events first: a replay since a time, of what has a delivery. Retries keep their schedule, and a delivery whose retry is due is left to it. It continues in the background; the endpoint shows what is left (`recovery`). Disabling or deleting the endpoint ends it. Asked again, it asks for none twice.',
  body: RecoverWebhookEndpoint,
  savesResponse: true,
  answer: dataOf(Recovered, 'How many there are.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const asked = { ...key, since: inMicroseconds(value.since), state: value.state }
    return recoveredRecord(await call.clients.webhooks.recoverWebhookEndpoint(asked, call.limits))
  },
})
