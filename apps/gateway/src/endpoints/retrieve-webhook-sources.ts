import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { named, recordResponse } from '../api/schemas'

const WebhookSources = named('WebhookSources', {
  addresses: Type.Array(Type.String(), {
    description:
      'IP addresses and CIDR ranges that webhooks are sent from. Empty if the operator has not set any.',
    examples: [['192.0.2.10', '2001:db8::/64']],
  }),
})

export const retrieveWebhookSources = operation({
  route: 'GET /manage/webhook-sources',
  summary: 'List the source addresses of webhooks',
  description:
    'Returns the addresses that webhooks are sent from, for the allow-list of a receiver. Receivers must still verify the signature of each webhook.',
  endpointTokens: true,
  answer: recordResponse(WebhookSources, 'The addresses.'),
  handler: async ({ dependencies }) => ({ addresses: dependencies.webhookSources }),
})
