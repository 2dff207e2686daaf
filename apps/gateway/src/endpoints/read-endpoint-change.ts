import type { Call } from '../api/operation'

/** The endpoint that a request names, and the fields of its body. */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { pathId, accountId, clients, limits, valid } = call
  const key = { accountId, endpointId: pathId() }
  const value = await valid(async () => {
    await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    return {}
  })
  return { key, value }
}
