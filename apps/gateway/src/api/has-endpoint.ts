import { ServiceError } from '@leadwire/service-kit'
import type { Call } from './operation'

export const isEndpoint = async (
  { accountId, clients, limits }: Call<unknown>,
  endpointId: number,
): Promise<boolean> => {
  try {
    await clients.webhooks.retrieveWebhookEndpoint({ accountId, endpointId }, limits)
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return false
    throw error
  }
}

/**
 * Returns whether the endpoint that the token is restricted to still exists. Returns true for an unrestricted
 * token. A token remains valid after its endpoint was deleted, but must then find no records.
 */
export const hasEndpoint = async (call: Call<unknown>): Promise<boolean> => {
  const { endpointId } = call.request.principal
  return endpointId === undefined || isEndpoint(call, endpointId)
}
