import type { ListWebhookEndpointsRequest, ListWebhookEndpointsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { selectEndpoints } from './endpoints-repository'

export const listWebhookEndpoints = async (
  { database }: { database: Database },
  { accountId }: ListWebhookEndpointsRequest,
): Promise<ListWebhookEndpointsResponse> => ({ endpoints: await selectEndpoints(database, accountId) })
