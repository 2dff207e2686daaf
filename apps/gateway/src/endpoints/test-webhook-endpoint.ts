import { EVENT_TYPES, FILTER_KEYS } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { pollUntil } from '../api/poll-until'
import { dataOf, named, orNull } from '../api/schemas'
import { AttemptRecord, attemptRecord, DeliveryRecord, deliveryWithName } from '../deliveries/deliveries'
import { oneOf, text } from '../validation/fields'
import { selectedIsInvalid } from '../validation/messages'
import { readEndpointChange } from './webhook-endpoints'

const FilterResult = named('WebhookEndpointFilterResult', {
  passes: Type.Boolean({ examples: [false] }),
  failed: Type.Array(oneOf(FILTER_KEYS), {
    description: 'What the filter names and the lead does not have.',
    examples: [['status']],
  }),
})

const TestedEndpoint = named('TestedWebhookEndpoint', {
  ...DeliveryRecord.properties,
  attempt: orNull(
    AttemptRecord,
    'The first attempt; null when it did not end within 5 seconds, and while the endpoint is disabled.',
  ),
  filter: orNull(
    FilterResult,
    "Whether the events of the lead `lead_reference`, as it is now, pass the endpoint's filter; null without `lead_reference`.",
  ),
})

const TestWebhookEndpoint = named('TestWebhookEndpointRequest', {
  type: Type.Optional(oneOf(EVENT_TYPES, 'Which sample.', 'lead.created')),
  lead_reference: Type.Optional(
    text(
      'A lead to try the filter of the endpoint on. The sample is sent whether or not it passes.',
      undefined,
      {
        format: 'uuid',
      },
    ),
  ),
})

/** What filters compare, of the lead that a body names. The endpoint comes first. Throws not_found, invalid and lead_erased. */
const matchOf = async (
  { accountId, clients, limits }: Call<unknown>,
  key: { accountId: number; endpointId: number },
  reference: string,
) => {
  try {
    return (await clients.leads.retrieveLeadMatch({ accountId, reference }, limits)).match
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    throw ServiceError.invalid({ lead_reference: [selectedIsInvalid('lead_reference')] })
  }
}

const WAIT_MS = 5000
const POLL_MS = 100

export const testWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/test',
  summary: 'Send a sample to a webhook endpoint',
  description:
    'A sample (of a lead, `test` is 1 and ids are 0) of the `type`, or else of the first type that the endpoint subscribes to. It goes to this endpoint alone, signed, recorded and retried like any other. While the endpoint is disabled it is held.',
  body: TestWebhookEndpoint,
  savesResponse: true,
  answer: dataOf(TestedEndpoint, 'The delivery, and how its first attempt ended.'),
  problems: ['lead-erased'],
  handler: async (call) => {
    const { accountId, clients, limits } = call
    const { key, value } = await readEndpointChange(call)
    const { type, lead_reference: reference } = value
    const match = reference === undefined ? undefined : await matchOf(call, key, reference)
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    const asked = { ...key, accountKey: account!.apiKey, type, match }
    // From before the call: a webhook-service of the release before waits in it.
    const until = performance.now() + WAIT_MS
    const { delivery: sent, filter } = await clients.webhooks.testWebhookEndpoint(asked, limits)
    const retrieve = () => clients.webhooks.retrieveDelivery({ accountId, deliveryId: sent!.id }, limits)
    const { delivery, attempts } = await pollUntil(await retrieve(), retrieve, {
      isComplete: (found) => found.attempts.length > 0 || found.delivery!.status !== 'pending',
      ...{ until, pauseMs: POLL_MS },
    })
    return {
      ...(await deliveryWithName(call, delivery)),
      attempt: attempts[0] ? attemptRecord(attempts[0]) : null,
      filter: filter ?? null,
    }
  },
})
