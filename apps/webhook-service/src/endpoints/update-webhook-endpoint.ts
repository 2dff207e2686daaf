import type { Actor, UpdateWebhookEndpointRequest, UpdateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { endpointEventsFaults, endpointLeadsFaults } from './endpoint-events'
import { endpointHeadersFaults } from './endpoint-headers'
import { auditedEndpoint, ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { endpointUrlFaults } from './endpoint-url'
import { forgetFailures } from './forget-failures'
import { markUnsettled } from './mark-unsettled'
import { replaceHeaders } from './replace-headers'
import { findEndpoint } from './retrieve-webhook-endpoint'
import type { SecretSealer } from './sealed-secrets'

/**
 * Changes what is given (the empty description clears it, a header without a value keeps the one it has). Disabling holds what is pending; enabling lets what is held go
 * on with its schedule, and calls `wake` so that what is due goes at once. Throws invalid and not_found.
 */
export const updateWebhookEndpoint = async (
  {
    database,
    actor,
    sealer,
    wake,
  }: { database: Database; actor?: Actor | undefined; sealer: SecretSealer; wake: () => void },
  request: UpdateWebhookEndpointRequest,
): Promise<UpdateWebhookEndpointResponse> => {
  const { accountId, endpointId, url, description, enabled, leads } = request
  const events = request.events?.types
  const headers = request.headers?.headers
  if ([url, description, enabled, events, leads, headers].every((given) => given === undefined))
    return { endpoint: await findEndpoint(database, request) }
  const faults = {
    ...(url !== undefined && endpointUrlFaults(url)),
    ...(events && endpointEventsFaults(events)),
    ...(leads !== undefined && endpointLeadsFaults(leads)),
    ...(headers && endpointHeadersFaults(headers)),
  }
  if (Object.keys(faults).length > 0) {
    await findEndpoint(database, request)
    throw ServiceError.invalid(faults)
  }
  const endpoint = await database.transaction(async (tx) => {
    const before = await tx.query<object>({
      name: 'lock-endpoint-for-update',
      text: `SELECT ${ENDPOINT_COLUMNS} FROM endpoints
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
      values: [accountId, endpointId],
    })
    if (headers) await replaceHeaders(tx, { sealer, accountId, endpointId, headers })
    const rows = await tx.query<object>({
      name: 'update-webhook-endpoint',
      text: `UPDATE endpoints SET
               url = coalesce($3, url),
               description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END,
               enabled = coalesce($5, enabled),
               disabled_reason = CASE WHEN $5::boolean IS NULL THEN disabled_reason END,
               events = coalesce($6::text[], events),
               leads = coalesce($7, leads),
               updated_at = clock_timestamp()
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${ENDPOINT_COLUMNS}`,
      values: [accountId, endpointId, url, description, enabled, events, leads].map((each) => each ?? null),
    })
    const updated = theEndpoint(rows)
    const changes = differences(auditedEndpoint(theEndpoint(before)), auditedEndpoint(updated))
    // Their values are not compared: they may be others under the same names.
    if (headers) changes['headers'] ??= { from: updated.headerNames, to: updated.headerNames }
    if (Object.keys(changes).length > 0)
      recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.updated', targetId: endpointId, changes })
    if (changes['enabled']) await markUnsettled(tx, [endpointId])
    if (enabled !== undefined || url !== undefined) await forgetFailures(tx, endpointId)
    return updated
  })
  if (enabled) wake()
  return { endpoint }
}
