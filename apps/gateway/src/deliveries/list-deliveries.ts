import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { PageQuery, pageOf } from '../docs/shared-schemas'
import { pageJson, pageNumber } from '../http/paging'
import { operation } from '../operation'
import { id, oneOf, text } from '../validation/fields'
import { textFaults } from '../validation/text-faults'
import { DELIVERY_STATUSES, deliveryRecord } from './delivery-schema'

const Filters = Type.Partial(
  Type.Object({
    endpoint_id: id('Only those to this endpoint.', 1),
    status: oneOf(DELIVERY_STATUSES, 'Only those in this state.', 'pending'),
    lead_reference: text('Only those of this lead.', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', {
      format: 'uuid',
    }),
  }),
)

const Query = Type.Object({ ...Filters.properties, ...PageQuery.properties })

/** GET /manage/deliveries: newest first. The addresses of other pages keep the filters. */
export const listDeliveries = operation({
  method: 'GET',
  url: '/manage/deliveries',
  operationId: 'listDeliveries',
  tag: 'Webhooks',
  summary: 'List deliveries',
  description: 'Newest first.',
  scope: 'manage',
  query: Query,
  checks: Filters,
  answer: {
    description: 'A page of deliveries.',
    schema: pageOf({ $ref: 'Delivery#' }, '/manage/deliveries'),
  },
  problems: ['invalid'],
  handler: async ({ request, accountId, clients, limits, check, addressOf }) => {
    // What is no page is page 1, whatever it is.
    const { page: givenPage, ...filters } = request.query as Record<string, unknown>
    const { value, faults } = check({ fields: filters, faults: textFaults(filters) })
    if (faults) throw ServiceError.invalid(faults)
    const { endpoint_id: endpointId, status } = value
    const leadReference = value.lead_reference?.toLowerCase()
    const page = pageNumber(givenPage)
    const { deliveries, total, perPage } = await clients.webhooks.listDeliveries(
      { accountId, endpointId, status, leadReference, page },
      limits,
    )
    const query = Object.fromEntries(Object.entries(value).map(([name, filter]) => [name, String(filter)]))
    const items = JSON.stringify(deliveries.map(deliveryRecord))
    const path = `${addressOf(request)}/manage/deliveries`
    return pageJson({ page, perPage, total, count: deliveries.length, items, path, query })
  },
})
