import type { ListEndpointsRequest, ListEndpointsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { selectEndpoints } from './endpoints-repository'

export const listEndpoints = async (
  { database }: { database: Database },
  { accountId }: ListEndpointsRequest,
): Promise<ListEndpointsResponse> => ({ endpoints: await selectEndpoints(database, accountId) })
