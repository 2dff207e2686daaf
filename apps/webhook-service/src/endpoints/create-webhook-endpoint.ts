import type { CreateWebhookEndpointRequest, CreateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, type Faults, ServiceError } from '@leadwire/service-kit'
import { lockAccount } from './account-lock'
import { endpointSecretFaults, newEndpointSecret } from './endpoint-secret'
import { endpointUrlFaults } from './endpoint-url'
import { insertEndpoint } from './endpoints-repository'

/**
 * Registers an address for the account's webhooks; makes the secret unless one is given. Throws invalid, also when the
 * account has as many endpoints as it may.
 */
export const createWebhookEndpoint = async (
  { database, endpointsPerAccount }: { database: Database; endpointsPerAccount: number },
  request: CreateWebhookEndpointRequest,
): Promise<CreateWebhookEndpointResponse> => {
  const secret = request.secret ?? newEndpointSecret()
  const faults: Faults = {}
  const urlFaults = endpointUrlFaults(request.url)
  if (urlFaults.length > 0) faults['url'] = urlFaults
  const secretFaults = endpointSecretFaults(secret)
  if (secretFaults.length > 0) faults['secret'] = secretFaults
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  const endpoint = await database.transaction((tx) => {
    lockAccount(tx, request.accountId)
    return insertEndpoint(tx, endpointsPerAccount, {
      accountId: request.accountId,
      url: request.url,
      description: request.description || null,
      enabled: request.enabled,
      secret,
    })
  })
  if (!endpoint)
    throw ServiceError.invalid({
      webhook_endpoints: [`must not be more than ${endpointsPerAccount} for an account`],
    })
  return { endpoint, secret }
}
