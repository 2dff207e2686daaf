import type { RetrieveWebhookEndpointRequest, RetrieveWebhookEndpointResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'

/** Throws not_found. */
export const retrieveWebhookEndpoint = async (
  { database }: { database: Database },
  { accountId, endpointId }: RetrieveWebhookEndpointRequest,
): Promise<RetrieveWebhookEndpointResponse> => {
  const rows = await database.query<object>({
    name: 'retrieve-webhook-endpoint',
    text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`,
    values: [accountId, endpointId],
  })
  return { endpoint: theEndpoint(rows) }
}
