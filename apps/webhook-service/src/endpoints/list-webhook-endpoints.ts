import type { Operation } from '../operation'
import { statement } from '../statement'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'
import type { SealedSecrets } from './secrets/sealed-secrets'

const list = statement<SealedSecrets>('list-webhook-endpoints')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async (
  { database, ...shown },
  { accountId },
) => ({ endpoints: (await list(database, accountId)).map((row) => endpointOf(shown, row)) })
