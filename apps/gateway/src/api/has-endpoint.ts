import { ServiceError } from '@leadwire/service-kit'
import type { Call } from './operation'

/** False for a token of an endpoint that was deleted: it outlives the endpoint, and finds nothing. */
export const hasEndpoint = async ({
  request,
  accountId,
  clients,
  limits,
}: Call<unknown>): Promise<boolean> => {
  const { endpointId } = request.principal
  if (endpointId === undefined) return true
  try {
    await clients.webhooks.retrieveWebhookEndpoint({ accountId, endpointId }, limits)
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return false
    throw error
  }
}
