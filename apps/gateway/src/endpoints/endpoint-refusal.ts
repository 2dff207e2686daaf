import { type CallLimits, type Faults, ServiceError } from '@leadwire/service-kit'
import type { Clients } from '../clients'

/**
 * The error to answer a request with whose body is faulty. The endpoint is looked up first, because a missing one is a
 * 404 whatever else is wrong: then the lookup throws.
 */
export const endpointRefusal = async (options: {
  clients: Clients
  limits: CallLimits
  key: { accountId: number; endpointId: number }
  faults: Faults
}): Promise<ServiceError> => {
  await options.clients.webhooks.retrieveWebhookEndpoint(options.key, options.limits)
  return ServiceError.invalid(options.faults)
}
