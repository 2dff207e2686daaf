import { Type } from '@sinclair/typebox'
import { pagedListOperation } from '../api/list-operation'
import { id } from '../validation/fields'
import { DELIVERY_FILTERS, DeliveryRecord, deliveryRecord } from './delivery-schema'

export const listDeliveries = pagedListOperation({
  route: 'GET /manage/deliveries',
  operationId: 'listDeliveries',
  tag: 'Webhooks',
  summary: 'List deliveries',
  what: 'deliveries',
  filters: Type.Partial(
    Type.Object({ endpoint_id: id('Only those to this endpoint.', 1), ...DELIVERY_FILTERS }),
  ),
  record: DeliveryRecord,
  find: async (
    { accountId, clients, limits },
    { endpoint_id: endpointId, status, lead_reference, ...place },
  ) => {
    const leadReference = lead_reference?.toLowerCase()
    const asked = { accountId, endpointId, status, leadReference, ...place }
    const { deliveries, ...rest } = await clients.webhooks.listDeliveries(asked, limits)
    return { ...rest, records: deliveries.map(deliveryRecord) }
  },
})
