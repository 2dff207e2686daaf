import type { DeleteWebhookEndpointRequest, DeleteWebhookEndpointResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { dropAttemptsByHand, markEndpointDeleted, moveDeliveries } from './endpoints-repository'

/** Deletes an endpoint and cancels what is pending or held for it; its deliveries stay readable. Throws not_found. */
export const deleteWebhookEndpoint = async (
  { database }: { database: Database },
  { accountId, endpointId }: DeleteWebhookEndpointRequest,
): Promise<DeleteWebhookEndpointResponse> =>
  database.transaction(async (tx) => {
    await markEndpointDeleted(tx, { accountId, endpointId })
    await moveDeliveries(tx, { endpointId, from: ['pending', 'held'], to: 'cancelled' })
    await dropAttemptsByHand(tx, endpointId)
    return {}
  })
