import type { Operation } from '../operation'
import { statement } from '../statement'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'

const list = statement('list-webhook-endpoints')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async (
  { database },
  { accountId },
) => ({ endpoints: (await list(database, accountId)).map(endpointOf) })
