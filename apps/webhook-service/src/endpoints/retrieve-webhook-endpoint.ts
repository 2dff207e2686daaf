import type { RetrieveWebhookEndpointRequest, RetrieveWebhookEndpointResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { selectEndpoint } from './endpoints-repository'

/** Throws not_found. */
export const retrieveWebhookEndpoint = async (
  { database }: { database: Database },
  request: RetrieveWebhookEndpointRequest,
): Promise<RetrieveWebhookEndpointResponse> => ({ endpoint: await selectEndpoint(database, request) })
