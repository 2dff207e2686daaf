import type {
  Actor,
  RecoverWebhookEndpointRequest,
  RecoverWebhookEndpointResponse,
} from '@leadwire/contracts'
import {
  type Database,
  differences,
  isUnfitTime,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'
import { below, LAST, NEWEST_FIRST, readInOrder } from './delivery-ranges'
import { lockEndpoint } from './lock-endpoint'
import { COUNTED_AT_MOST, isAsked } from './recovery'

const INVALID_SINCE = ServiceError.invalid({ since: ['must be an instant, such as 2026-01-31T09:30:00Z'] })

// The newest, because those that are old enough to be left out come last.
const COUNT = `
  SELECT count(*) FILTER (WHERE created_at >= $2 AND by_hand_at IS NULL AND ${UNCLAIMED} AND NOT ${isAsked('d')}) AS recovered,
    count(*) = ${COUNTED_AT_MOST} AND bool_and(created_at >= $2) AS "recoveredCapped"
  FROM (
    SELECT * FROM deliveries WHERE ${below('$1', "'exhausted'", LAST)} ${NEWEST_FIRST} LIMIT ${COUNTED_AT_MOST}
  ) d`

const checkEndpoint = async (tx: Transaction, request: RecoverWebhookEndpointRequest) => {
  const endpoint = await lockEndpoint(tx, request.endpointId)
  if (endpoint.deleted || endpoint.accountId !== request.accountId)
    throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  if (!endpoint.enabled) throw new ServiceError('conflict', 'The endpoint is disabled. Enable it first.')
}

const ask = async (
  tx: OpenTransaction,
  request: RecoverWebhookEndpointRequest,
  actor: Actor | undefined,
): Promise<RecoverWebhookEndpointResponse> => {
  const { accountId, endpointId, since } = request
  await checkEndpoint(tx, request)
  const values = [endpointId, since]
  readInOrder(tx)
  const [found] = await tx.query<RecoverWebhookEndpointResponse>({
    name: 'count-to-recover',
    text: COUNT,
    values,
  })
  const { recovered, recoveredCapped } = found!
  if (recovered > 0 || recoveredCapped)
    tx.send({ text: 'INSERT INTO recoveries (endpoint_id, since) VALUES ($1, $2)', values })
  const changes = differences({}, { since })
  recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.recovered', targetId: endpointId, changes })
  return { recovered, recoveredCapped }
}

/**
 * Asks for one more attempt of every exhausted delivery of an endpoint that was made at `since` or later; `goOnRecovering` sees
 * to them, the oldest first, ten a second. Answers with how many it asked for, as far as the newest 10,000 exhausted ones say
 * (`recoveredCapped`: there may be more); calling again asks for none twice.
 *
 * Throws invalid, not_found, and conflict for a disabled endpoint.
 */
export const recoverWebhookEndpoint = async (
  { database, actor }: { database: Database; actor?: Actor | undefined },
  request: RecoverWebhookEndpointRequest,
): Promise<RecoverWebhookEndpointResponse> => {
  if (Number.isNaN(Date.parse(request.since))) throw INVALID_SINCE
  try {
    return await database.transaction((tx) => ask(tx, request, actor))
  } catch (error) {
    throw isUnfitTime(error) ? INVALID_SINCE : error
  }
}
