import { Type } from '@sinclair/typebox'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { pathId } from '../http/path-id'
import { managementOperation } from '../operation'
import { endpointRefusal } from './endpoint-refusal'
import { endpointFields, endpointRecord } from './endpoint-schema'

const UpdateWebhookEndpoint = Type.Partial(Type.Object(endpointFields))

/** PATCH /manage/webhook-endpoints/:id. */
export const updateWebhookEndpoint = managementOperation({
  method: 'PATCH',
  url: '/manage/webhook-endpoints/:id',
  operationId: 'updateWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Update a webhook endpoint',
  description: 'Changes what is given and leaves the rest. When it is enabled, held deliveries go on.',
  params: IdParams,
  body: UpdateWebhookEndpoint,
  answer: { description: 'The endpoint as it is now.', schema: dataOf({ $ref: 'WebhookEndpoint#' }) },
  problems: ['not-found'],
  run: async ({ request, accountId, clients, limits, check }) => {
    const key = { accountId, endpointId: pathId(request) }
    const { value, faults } = check()
    if (faults) throw await endpointRefusal({ clients, limits, key, faults })
    const { url, enabled } = value
    const description = value.description === null ? '' : value.description
    const { endpoint } = await clients.webhooks.updateWebhookEndpoint(
      { ...key, url, description, enabled },
      limits,
    )
    return endpointRecord(endpoint!)
  },
})
