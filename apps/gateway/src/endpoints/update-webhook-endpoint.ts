import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { EndpointRecord, endpointFields, endpointHeaders, endpointRecord, headersOf } from './endpoint-schema'
import { readEndpointChange } from './read-endpoint-change'

const UpdateWebhookEndpoint = Type.Partial(Type.Object({ ...endpointFields, headers: endpointHeaders }), {
  title: 'UpdateWebhookEndpointRequest',
})

export const updateWebhookEndpoint = operation({
  route: 'PATCH /manage/webhook-endpoints/:id',
  operationId: 'updateWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Update a webhook endpoint',
  description: 'Changes what is given and leaves the rest. When it is enabled, held deliveries are sent.',
  body: UpdateWebhookEndpoint,
  answer: dataOf(EndpointRecord, 'The endpoint as it is now.'),
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const { url, enabled, leads } = value
    const events = value.events && { types: value.events }
    const description = value.description === null ? '' : value.description
    const { endpoint } = await call.clients.webhooks.updateWebhookEndpoint(
      { ...key, url, description, enabled, events, leads, headers: headersOf(value.headers) },
      call.limits,
    )
    return endpointRecord(endpoint!)
  },
})
