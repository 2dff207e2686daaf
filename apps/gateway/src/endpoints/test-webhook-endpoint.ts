import { FILTER_KEYS } from '@leadwire/contracts'
import { describeUnknown, enumeration, TestWebhookEndpoint } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { named, orNull, recordResponse } from '../api/schemas'
import { AttemptRecord, DeliveryRecord, deliveryWithName, renderAttempt } from '../deliveries/deliveries'
import { readEndpointChange } from './webhook-endpoints'

const FilterResult = named('WebhookEndpointFilterResult', {
  passes: Type.Boolean({ examples: [false] }),
  failed: Type.Array(enumeration(FILTER_KEYS), {
    description: 'Filter keys that the lead does not match.',
    examples: [['status']],
  }),
})

const TestedEndpoint = named('TestedWebhookEndpoint', {
  ...DeliveryRecord.properties,
  attempt: orNull(
    AttemptRecord,
    'The first attempt. null if the attempt did not end within 5 seconds, or if the endpoint is disabled.',
  ),
  filter: orNull(
    FilterResult,
    "Whether the current data of the lead `lead_reference` passes the endpoint's filter. null without `lead_reference`.",
  ),
})

/**
 * Returns the lead's values that the filters of endpoints compare. Throws `invalid` for an unknown lead, and
 * `lead_erased` for an erased lead. If the lead and the endpoint are both unknown, throws `not_found`.
 */
const retrieveMatch = async (
  { accountId, clients, limits }: Call<unknown>,
  key: { accountId: number; endpointId: number },
  reference: string,
) => {
  try {
    return (await clients.leads.retrieveLeadMatch({ accountId, reference }, limits)).match
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    throw ServiceError.invalid({ lead_reference: [describeUnknown('lead_reference')] })
  }
}

export const testWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/test',
  summary: 'Send a test event to a webhook endpoint',
  description:
    'Sends a sample event of `type`. In the sample of a lead, `test` is 1 and IDs are 0. Only this endpoint receives the sample. The delivery is signed, recorded and retried like any other delivery. While the endpoint is disabled, the delivery is held.',
  body: TestWebhookEndpoint,
  savesResponse: true,
  answer: recordResponse(TestedEndpoint, 'The delivery and its first attempt.'),
  problems: ['lead-erased'],
  handler: async (call) => {
    const { accountId, clients, limits } = call
    const { key, value } = await readEndpointChange(call)
    const { type, lead_reference: reference } = value
    const match = reference === undefined ? undefined : await retrieveMatch(call, key, reference)
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    const asked = { ...key, accountKey: account!.apiKey, type, match }
    const { delivery, attempt, filter } = await clients.testWebhookEndpoint(asked, limits)
    return {
      ...(await deliveryWithName(call, delivery)),
      attempt: attempt ? renderAttempt(attempt) : null,
      filter: filter ?? null,
    }
  },
})
