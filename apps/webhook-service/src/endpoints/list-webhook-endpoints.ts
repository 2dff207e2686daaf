import type { Operation } from '../operation'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'

/** The account's endpoints, oldest first. */
export const listWebhookEndpoints: Operation<'listWebhookEndpoints', 'database'> = async (
  { database },
  { accountId },
) => {
  const rows = await database.query<object>({
    name: 'list-webhook-endpoints',
    text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`,
    values: [accountId],
  })
  return { endpoints: rows.map(endpointOf) }
}
