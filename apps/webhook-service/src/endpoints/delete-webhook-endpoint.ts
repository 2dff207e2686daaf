import type { Actor, DeleteWebhookEndpointRequest, DeleteWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import { auditedEndpoint, ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { moveDeliveries } from './move-deliveries'

/**
 * Deletes an endpoint and cancels what is pending or held for it. Its row stays, for its deliveries, which stay readable.
 * Attempts that were asked for by hand and have not begun are forgotten; what they were asked for stays as it was.
 * Throws not_found.
 */
export const deleteWebhookEndpoint = async (
  { database, actor }: { database: Database; actor?: Actor | undefined },
  { accountId, endpointId }: DeleteWebhookEndpointRequest,
): Promise<DeleteWebhookEndpointResponse> =>
  database.transaction(async (tx) => {
    const deleted = theEndpoint(
      await tx.query<object>({
        name: 'delete-webhook-endpoint',
        text: `UPDATE endpoints SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
               WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${ENDPOINT_COLUMNS}`,
        values: [accountId, endpointId],
      }),
    )
    const changes = differences(auditedEndpoint(deleted), {})
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.deleted', targetId: endpointId, changes })
    await moveDeliveries(tx, { endpointId, from: ['pending', 'held'], to: 'cancelled' })
    await tx.query({
      name: 'drop-attempts-by-hand',
      text: `WITH waiting AS (
               SELECT id FROM deliveries
               WHERE endpoint_id = $1 AND by_hand_at IS NOT NULL ORDER BY id FOR UPDATE
             )
             UPDATE deliveries d SET by_hand_at = NULL, updated_at = clock_timestamp()
             FROM waiting WHERE d.id = waiting.id`,
      values: [endpointId],
    })
    return {}
  })
