import { ServiceError } from '@leadwire/service-kit'
import type { Call } from '../api/operation'
import { pathId } from '../api/path-id'

/**
 * Which endpoint a request is about, and the fields of its body. Throws invalid with every fault; before, the endpoint
 * is looked up, because a missing one is a 404 whatever else is wrong: then the lookup throws.
 */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { request, accountId, clients, limits, check } = call
  const key = { accountId, endpointId: pathId(request) }
  const { value, faults } = check()
  if (!faults) return { key, value }
  await clients.webhooks.retrieveWebhookEndpoint(key, limits)
  throw ServiceError.invalid(faults)
}
