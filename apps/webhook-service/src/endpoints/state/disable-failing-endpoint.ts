import { differences, recordAudit, statement } from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import { reportDisabled } from './endpoint-reports'
import { deleteFailures, markOutOfSync } from './sync-deliveries'

const findFailing = statement<{ endpointId: number; since: string }>('find-failing')`
  SELECT endpoint_id AS "endpointId", since FROM endpoint_failures WHERE since <= :latest ORDER BY since LIMIT 1`

// Finds a success that the review step has not read yet.
const findSuccess = statement('find-success-since')`
  SELECT FROM endpoint_hours WHERE endpoint_id = :endpointId AND last_success_at > :since LIMIT 1`

const disable = statement<{ accountId: number }>('disable-failing')`
  UPDATE endpoints SET enabled = false, disabled_reason = 'failing', updated_at = clock_timestamp()
  WHERE id = $1 AND enabled AND deleted_at IS NULL RETURNING account_id AS "accountId"`

/**
 * Disables one endpoint at which all attempts have failed for `WEBHOOK_DISABLE_AFTER`. Resolves with whether
 * there may be more such endpoints.
 */
export const disableFailingEndpoint = async (dependencies: Dependencies): Promise<boolean> => {
  const { database, clock, wake, disableAfterMs } = dependencies
  const isFound = await database.transaction(async (tx) => {
    const now = clock.now()
    const [found] = await findFailing(tx, { latest: new Date(now.getTime() - disableAfterMs) })
    if (!found) return false
    const { endpointId, since } = found
    const [success] = await findSuccess(tx, { endpointId, since })
    const [disabled] = success ? [] : await disable(tx, endpointId)
    if (disabled) {
      await markOutOfSync(tx, [endpointId])
      const changes = differences({ enabled: true }, { enabled: false, disabled_reason: 'failing' })
      const action = 'webhook_endpoint.disabled'
      recordAudit(tx, undefined, { ...disabled, action, targetId: endpointId, changes })
      reportDisabled.send(tx, { endpointId, since, at: now })
    } else await deleteFailures(tx, [endpointId])
    return true
  })
  if (isFound) for (const loop of ['syncs', 'reports'] as const) wake(loop)
  return isFound
}
