import type { UpdateWebhookEndpointRequest, UpdateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { endpointUrlFaults } from './endpoint-url'
import { moveDeliveries, selectEndpoint, updateEndpointRow } from './endpoints-repository'

/**
 * Changes what is given. Disabling holds what is pending; enabling lets what is held go on with its schedule, and
 * calls `wake` so that what is due goes at once. Throws invalid and not_found.
 */
export const updateWebhookEndpoint = async (
  { database, wake }: { database: Database; wake: () => void },
  request: UpdateWebhookEndpointRequest,
): Promise<UpdateWebhookEndpointResponse> => {
  const { accountId, endpointId, url, description, enabled } = request
  if (url === undefined && description === undefined && enabled === undefined)
    return { endpoint: await selectEndpoint(database, request) }
  const faults = url === undefined ? [] : endpointUrlFaults(url)
  if (faults.length > 0) {
    await selectEndpoint(database, request)
    throw ServiceError.invalid({ url: faults })
  }
  const endpoint = await database.transaction(async (tx) => {
    const updated = await updateEndpointRow(tx, { accountId, endpointId, url, description, enabled })
    if (enabled === false) await moveDeliveries(tx, { endpointId, from: ['pending'], to: 'held' })
    if (enabled === true) await moveDeliveries(tx, { endpointId, from: ['held'], to: 'pending' })
    return updated
  })
  if (enabled) wake()
  return { endpoint }
}
