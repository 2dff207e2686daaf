import type { Call } from '../api/operation'
import { pathId } from '../api/path-parameters'

/** The endpoint that a request names, and the fields of its body. */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { request, accountId, clients, limits, valid } = call
  const key = { accountId, endpointId: pathId(request) }
  return { key, value: await valid(() => clients.webhooks.retrieveWebhookEndpoint(key, limits)) }
}
