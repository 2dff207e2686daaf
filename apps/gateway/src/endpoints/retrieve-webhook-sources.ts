import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, named } from '../api/schemas'

const WebhookSources = named('WebhookSources', {
  addresses: Type.Array(Type.String(), {
    description: 'IP addresses and CIDR ranges; empty when the operator has set none.',
    examples: [['192.0.2.10', '2001:db8::/64']],
  }),
})

export const retrieveWebhookSources = operation({
  route: 'GET /manage/webhook-sources',
  summary: 'Show where webhooks come from',
  description: "For allow-lists of receivers. Check each webhook's signature all the same.",
  endpointTokens: true,
  answer: dataOf(WebhookSources, 'The addresses.'),
  handler: async ({ dependencies }) => ({ addresses: dependencies.webhookSources }),
})
