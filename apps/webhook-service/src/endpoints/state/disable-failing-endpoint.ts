import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { deleteFailures, markOutOfSync } from './change-state'

const FIND = 'SELECT endpoint_id FROM endpoint_failures WHERE since <= $1 ORDER BY since LIMIT 1'

const DISABLE = `
  UPDATE endpoints SET enabled = false, disabled_reason = 'failing', updated_at = clock_timestamp()
  WHERE id = $1 AND enabled AND deleted_at IS NULL RETURNING account_id AS "accountId"`

/** Disables one endpoint that has only failed for `afterMs`. Resolves with whether there may be more. */
export const disableFailingEndpoint = (
  database: Database,
  { afterMs, clock }: { afterMs: number; clock: Clock },
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const before = new Date(clock.now().getTime() - afterMs).toISOString()
    const [found] = await tx.query<{ endpoint_id: number }>({
      ...{ name: 'find-failing', text: FIND, values: [before] },
    })
    if (!found) return false
    const { endpoint_id: endpointId } = found
    const [disabled] = await tx.query<{ accountId: number }>({
      ...{ name: 'disable-failing', text: DISABLE, values: [endpointId] },
    })
    if (disabled) {
      await markOutOfSync(tx, [endpointId])
      const changes = differences({ enabled: true }, { enabled: false, disabled_reason: 'failing' })
      const action = 'webhook_endpoint.disabled'
      recordAudit(tx, undefined, { ...disabled, action, targetId: endpointId, changes })
    }
    await deleteFailures(tx, endpointId)
    return true
  })
