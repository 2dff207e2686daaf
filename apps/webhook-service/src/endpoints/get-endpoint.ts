import type { GetEndpointRequest, GetEndpointResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { selectEndpoint } from './endpoints-repository'

/** Throws not_found. */
export const getEndpoint = async (
  { database }: { database: Database },
  request: GetEndpointRequest,
): Promise<GetEndpointResponse> => ({ endpoint: await selectEndpoint(database, request) })
