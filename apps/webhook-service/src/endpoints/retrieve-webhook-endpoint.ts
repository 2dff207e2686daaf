import type {
  Endpoint,
  RetrieveWebhookEndpointRequest,
  RetrieveWebhookEndpointResponse,
} from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { recoveryOf } from './recovery'

/** Throws not_found. */
export const findEndpoint = async (
  database: Database,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<Endpoint> => {
  const rows = await database.query<object>({
    name: 'retrieve-webhook-endpoint',
    text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`,
    values: [accountId, endpointId],
  })
  return theEndpoint(rows)
}

/** An endpoint, and what is left of what is recovered there. Throws not_found. */
export const retrieveWebhookEndpoint = async (
  { database }: { database: Database },
  request: RetrieveWebhookEndpointRequest,
): Promise<RetrieveWebhookEndpointResponse> => {
  const endpoint = await findEndpoint(database, request)
  return { endpoint, recovery: await recoveryOf(database, endpoint.id) }
}
