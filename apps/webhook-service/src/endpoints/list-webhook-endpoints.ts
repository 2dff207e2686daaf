import type { ListWebhookEndpointsRequest, ListWebhookEndpointsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'

/** The account's endpoints that are not deleted, oldest first. */
export const listWebhookEndpoints = async (
  { database }: { database: Database },
  { accountId }: ListWebhookEndpointsRequest,
): Promise<ListWebhookEndpointsResponse> => {
  const rows = await database.query<object>({
    name: 'list-webhook-endpoints',
    text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`,
    values: [accountId],
  })
  return { endpoints: rows.map(endpointOf) }
}
