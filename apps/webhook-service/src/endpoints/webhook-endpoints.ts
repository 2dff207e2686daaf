import { differences, recordAudit } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { statement } from '../statement'
import { auditedEndpoint, ENDPOINT_COLUMNS, endpointOf, findEndpoint, theEndpoint } from './endpoint-row'
import { recoveryOf } from './replay/replays'
import type { SealedSecrets } from './secrets/sealed-secrets'
import { deleteReports } from './state/endpoint-reports'
import { deleteFailures, markOutOfSync } from './state/sync-deliveries'

const list = statement<SealedSecrets>('list-webhook-endpoints')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`

const markDeleted = statement<SealedSecrets>('delete-webhook-endpoint')`
  UPDATE endpoints SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${ENDPOINT_COLUMNS}`

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async (
  { database, ...shown },
  { accountId },
) => ({ endpoints: (await list(database, accountId)).map((row) => endpointOf(shown, row)) })

/** An endpoint, and what remains to be recovered there. Throws not_found. */
export const retrieveWebhookEndpoint: Operation<'retrieveWebhookEndpoint'> = async (
  dependencies,
  request,
) => {
  const endpoint = await findEndpoint(dependencies, request)
  return { endpoint, recovery: await recoveryOf(dependencies.database, endpoint.id) }
}

/** Deletes an endpoint, cancels its open deliveries and drops manual attempts. The row stays, for its deliveries. Throws not_found. */
export const deleteWebhookEndpoint: Operation<'deleteWebhookEndpoint'> = async (
  dependencies,
  { accountId, endpointId },
) => {
  const { database, actor, wake } = dependencies
  await database.transaction(async (tx) => {
    const deleted = theEndpoint(dependencies, await markDeleted(tx, accountId, endpointId))
    const changes = differences(auditedEndpoint(deleted), {})
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.deleted', targetId: endpointId, changes })
    await markOutOfSync(tx, [endpointId])
    await deleteFailures(tx, endpointId)
    await deleteReports(tx, endpointId)
  })
  wake('syncs')
  return {}
}
