import type { Actor, UpdateWebhookEndpointRequest, UpdateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { auditedEndpoint, ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { endpointUrlFaults } from './endpoint-url'
import { moveDeliveries } from './move-deliveries'
import { retrieveWebhookEndpoint } from './retrieve-webhook-endpoint'

/**
 * Changes what is given (the empty description clears it). Disabling holds what is pending; enabling lets what is held go
 * on with its schedule, and calls `wake` so that what is due goes at once. Throws invalid and not_found.
 */
export const updateWebhookEndpoint = async (
  { database, actor, wake }: { database: Database; actor?: Actor | undefined; wake: () => void },
  request: UpdateWebhookEndpointRequest,
): Promise<UpdateWebhookEndpointResponse> => {
  const { accountId, endpointId, url, description, enabled } = request
  if (url === undefined && description === undefined && enabled === undefined)
    return retrieveWebhookEndpoint({ database }, request)
  const faults = url === undefined ? {} : endpointUrlFaults(url)
  if (Object.keys(faults).length > 0) {
    await retrieveWebhookEndpoint({ database }, request)
    throw ServiceError.invalid(faults)
  }
  const endpoint = await database.transaction(async (tx) => {
    const before = await tx.query<object>({
      name: 'lock-endpoint-for-update',
      text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
      values: [accountId, endpointId],
    })
    const rows = await tx.query<object>({
      name: 'update-webhook-endpoint',
      text: `UPDATE endpoints SET
               url = coalesce($3, url),
               description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END,
               enabled = coalesce($5, enabled),
               updated_at = clock_timestamp()
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${ENDPOINT_COLUMNS}`,
      values: [accountId, endpointId, url ?? null, description ?? null, enabled ?? null],
    })
    const updated = theEndpoint(rows)
    const changes = differences(auditedEndpoint(theEndpoint(before)), auditedEndpoint(updated))
    if (Object.keys(changes).length > 0)
      recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.updated', targetId: endpointId, changes })
    if (enabled === false) await moveDeliveries(tx, { endpointId, from: ['pending'], to: 'held' })
    if (enabled === true) await moveDeliveries(tx, { endpointId, from: ['held'], to: 'pending' })
    return updated
  })
  if (enabled) wake()
  return { endpoint }
}
