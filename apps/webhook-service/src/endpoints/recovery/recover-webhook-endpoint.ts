import { differences, isInvalidTime, recordAudit, ServiceError } from '@leadwire/service-kit'
import { validate } from '../../arguments'
import { readInOrder } from '../../delivery-sql'
import type { Operation } from '../../operation'
import { statement } from '../../statement'
import { lockEndpoint } from '../endpoint-row'
import { countToRecover, STATUSES } from './recovery'

const SINCE_VIOLATION = 'must be an instant, such as 2026-01-31T09:30:00Z'

// In the order in which `runRecovery` takes them: by id.
const insert = statement('insert-recoveries')`
  INSERT INTO recoveries (endpoint_id, status, since)
  SELECT $1, status, $3 FROM unnest($2::text[]) WITH ORDINALITY AS requested (status, place) ORDER BY place`

/**
 * Requests one manual attempt of every delivery of an endpoint that was created at `since` or later and has the state: exhausted;
 * undelivered, which adds those that wait for a retry; or all, which adds delivered ones. `runRecovery` makes them. Answers with how
 * many there are among the newest 10,000 of each status. Throws invalid, not_found, and conflict for a disabled endpoint.
 */
export const recoverWebhookEndpoint: Operation<'recoverWebhookEndpoint'> = async (
  { database, actor, wake },
  request,
) => {
  const { accountId, endpointId, since, state = 'exhausted' } = request
  validate({
    since: !Number.isNaN(Date.parse(since)) || SINCE_VIOLATION,
    state: Object.hasOwn(STATUSES, state) || `must be one of ${Object.keys(STATUSES).join(', ')}`,
  })
  const values = [endpointId, STATUSES[state], since]
  try {
    const counted = await database.transaction(async (tx) => {
      const endpoint = await lockEndpoint(tx, endpointId)
      if (endpoint.deleted || endpoint.accountId !== accountId)
        throw new ServiceError('not_found', 'There is no such webhook endpoint.')
      if (!endpoint.enabled) throw new ServiceError('conflict', 'The endpoint is disabled. Enable it first.')
      readInOrder(tx)
      const [found] = await countToRecover(tx, ...values)
      const { count, capped } = found!
      if (count > 0 || capped) insert.send(tx, ...values)
      const changes = differences({}, { since, state: request.state })
      const action = 'webhook_endpoint.recovered'
      recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
      return { recovered: count, recoveredCapped: capped }
    })
    wake('recoveries')
    return counted
  } catch (error) {
    if (isInvalidTime(error)) validate({ since: SINCE_VIOLATION })
    throw error
  }
}
