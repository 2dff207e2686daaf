import type { Actor, DeleteWebhookEndpointRequest, DeleteWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import { auditedEndpoint, ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { forgetFailures } from './forget-failures'
import { markUnsettled } from './mark-unsettled'

/**
 * Deletes an endpoint: what is open for it is cancelled. Its row stays, for its deliveries, which stay readable. Attempts that
 * were asked for by hand and have not begun are forgotten; what they were asked for stays as it was.
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
    await markUnsettled(tx, [endpointId])
    await forgetFailures(tx, endpointId)
    return {}
  })
