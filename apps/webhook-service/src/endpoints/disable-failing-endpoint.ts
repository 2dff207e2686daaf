import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { forgetFailures } from './forget-failures'
import { markUnsettled } from './mark-unsettled'

const FIND = 'SELECT endpoint_id FROM endpoint_failures WHERE since <= $1 ORDER BY since LIMIT 1'

/** That endpoint `p` did not succeed: a copy of the release before records successes, and no end of failures. */
export const NO_SUCCESS_SINCE = `NOT EXISTS (
    SELECT FROM endpoint_hours h JOIN endpoint_failures f USING (endpoint_id)
    WHERE h.endpoint_id = p.id AND h.last_success_at >= f.since
  )`

const DISABLE = `
  UPDATE endpoints p SET enabled = false, disabled_reason = 'failing', updated_at = clock_timestamp()
  WHERE id = $1 AND enabled AND deleted_at IS NULL AND ${NO_SUCCESS_SINCE}
  RETURNING account_id AS "accountId"`

/**
 * Disables one endpoint that has only failed for as long as `afterMs`: its deliveries are held. Resolves with whether there may
 * be more.
 */
export const disableFailingEndpoint = (
  database: Database,
  { afterMs, clock }: { afterMs: number; clock: Clock },
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const before = new Date(clock.now().getTime() - afterMs).toISOString()
    const [found] = await tx.query<{ endpoint_id: number }>({
      name: 'find-failing',
      text: FIND,
      values: [before],
    })
    if (!found) return false
    const { endpoint_id: endpointId } = found
    const [disabled] = await tx.query<{ accountId: number }>({
      name: 'disable-failing',
      text: DISABLE,
      values: [endpointId],
    })
    if (disabled) {
      await markUnsettled(tx, [endpointId])
      const changes = differences({ enabled: true }, { enabled: false, disabled_reason: 'failing' })
      const { accountId } = disabled
      recordAudit(tx, undefined, {
        accountId,
        action: 'webhook_endpoint.disabled',
        targetId: endpointId,
        changes,
      })
    }
    await forgetFailures(tx, endpointId)
    return true
  })
