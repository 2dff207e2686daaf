import type { Call } from '../api/operation'

/** The endpoint that a request names, and the fields of its body. */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { pathId, accountId, clients, limits, valid } = call
  const key = { accountId, endpointId: pathId() }
  return { key, value: await valid(() => clients.webhooks.retrieveWebhookEndpoint(key, limits)) }
}
