import type { Operation } from '../operation'
import { statement } from '../statement'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'

const list = statement('list-webhook-endpoints')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`

/** The account's endpoints, oldest first. */
export const listWebhookEndpoints: Operation<'listWebhookEndpoints', 'database'> = async (
  { database },
  { accountId },
) => ({ endpoints: (await list(database, accountId)).map(endpointOf) })
