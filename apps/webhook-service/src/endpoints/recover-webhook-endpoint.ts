import type {
  Actor,
  RecoverWebhookEndpointRequest,
  RecoverWebhookEndpointResponse,
} from '@leadwire/contracts'
import {
  type Database,
  differences,
  isInvalidTime,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { readInOrder } from './delivery-ranges'
import { lockEndpoint } from './lock-endpoint'
import { countNewest, isAsked, isWaiting, isWhole, STATUSES } from './recovery'

const INVALID_SINCE = ServiceError.invalid({ since: ['must be an instant, such as 2026-01-31T09:30:00Z'] })
const INVALID_STATE = ServiceError.invalid({ state: [`must be one of ${Object.keys(STATUSES).join(', ')}`] })

const COUNT = countNewest(
  'SELECT status, $3::timestamptz AS since FROM unnest($2::text[]) AS status',
  `${isWaiting('d')} AND ${isWhole('d')} AND NOT ${isAsked('d')}`,
)

// In the order of ids, which `NEXT` of go-on-recovering.ts goes by.
const INSERT = `
  INSERT INTO recoveries (endpoint_id, status, since)
  SELECT $1, status, $3 FROM unnest($2::text[]) WITH ORDINALITY AS asked (status, place) ORDER BY place`

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
  const { accountId, endpointId, since, state } = request
  await checkEndpoint(tx, request)
  const values = [endpointId, STATUSES[state ?? 'exhausted'], since]
  readInOrder(tx)
  const [found] = await tx.query<{ count: number; capped: boolean }>({
    name: 'count-to-recover',
    text: COUNT,
    values,
  })
  const { count, capped } = found!
  if (count > 0 || capped) tx.send({ text: INSERT, values })
  const changes = differences({}, { since, state })
  recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.recovered', targetId: endpointId, changes })
  return { recovered: count, recoveredCapped: capped }
}

/**
 * Asks for one more attempt of every delivery of an endpoint that was made at `since` or later and is of the state: exhausted, also
 * those that wait for a retry (undelivered), or also those delivered (all). `goOnRecovering` makes them, ten a second. Answers with how
 * many it asked for, as far as the newest 10,000 of each status say (`recoveredCapped`: there may be more); calling again asks for none
 * twice.
 *
 * Throws invalid, not_found, and conflict for a disabled endpoint.
 */
export const recoverWebhookEndpoint = async (
  { database, actor }: { database: Database; actor?: Actor | undefined },
  request: RecoverWebhookEndpointRequest,
): Promise<RecoverWebhookEndpointResponse> => {
  const { since, state = 'exhausted' } = request
  if (Number.isNaN(Date.parse(since))) throw INVALID_SINCE
  if (!Object.hasOwn(STATUSES, state)) throw INVALID_STATE
  try {
    return await database.transaction((tx) => ask(tx, request, actor))
  } catch (error) {
    throw isInvalidTime(error) ? INVALID_SINCE : error
  }
}
