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
import type { Clock } from '../clock'
import { lockEndpoint } from './lock-endpoint'

/** A receiver that has just come back is not to be knocked over by its own backlog. */
const APART_MS = 100
/** Rows that one transaction locks. */
const AT_ONCE = 5000

const INVALID_SINCE = ServiceError.invalid({ since: ['must be an instant, such as 2026-01-31T09:30:00Z'] })

const checkEndpoint = async (tx: Transaction, request: RecoverWebhookEndpointRequest) => {
  const endpoint = await lockEndpoint(tx, request.endpointId)
  if (endpoint.deleted || endpoint.accountId !== request.accountId)
    throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  if (!endpoint.enabled) throw new ServiceError('conflict', 'The endpoint is disabled. Enable it first.')
}

// Behind what an earlier call asked for, so that the pace is the same however often somebody calls.
const markBatch = (
  database: Database,
  request: RecoverWebhookEndpointRequest,
  now: Date,
  begin: (tx: OpenTransaction) => void,
) =>
  database.transaction(async (tx) => {
    await checkEndpoint(tx, request)
    begin(tx)
    const rows = await tx.query<object>({
      name: 'recover-webhook-endpoint',
      text: `
        WITH found AS MATERIALIZED (
          SELECT id FROM deliveries
          WHERE account_id = $1 AND status = 'exhausted' AND endpoint_id = $2
            AND created_at >= $3 AND by_hand_at IS NULL AND ${UNCLAIMED}
          ORDER BY id LIMIT $6 FOR UPDATE
        ), last AS (
          SELECT max(by_hand_at) AS at FROM deliveries
          WHERE endpoint_id = $2 AND by_hand_at IS NOT NULL AND ${UNCLAIMED}
        )
        UPDATE deliveries d SET
          by_hand_at = greatest($4::timestamptz, last.at + $5 * interval '1 ms')
            + (numbered.place - 1) * $5 * interval '1 ms',
          updated_at = clock_timestamp()
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM found) AS numbered, last
        WHERE d.id = numbered.id
        RETURNING d.id`,
      values: [request.accountId, request.endpointId, request.since, now.toISOString(), APART_MS, AT_ONCE],
    })
    return rows.length
  })

/**
 * Asks for one more attempt of every exhausted delivery of an endpoint that was made at `since` or later, the oldest
 * first, ten a second. They stand beside what is on schedule: of an endpoint that can't keep up, each kind gets a
 * share. Answers with how many it asked for; calling again asks for none twice.
 *
 * Throws invalid, not_found, and conflict for a disabled endpoint.
 */
export const recoverWebhookEndpoint = async (
  dependencies: {
    database: Database
    actor?: Actor | undefined
    clock: Clock
    wake: (endpointIds: number[]) => void
  },
  request: RecoverWebhookEndpointRequest,
): Promise<RecoverWebhookEndpointResponse> => {
  const { database, actor, clock, wake } = dependencies
  const { accountId, endpointId, since } = request
  const record = (tx: OpenTransaction) => {
    const changes = differences({}, { since })
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.recovered', targetId: endpointId, changes })
  }
  if (Number.isNaN(Date.parse(since))) throw INVALID_SINCE
  let recovered = 0
  try {
    for (let marked = AT_ONCE; marked === AT_ONCE; recovered += marked)
      // Told once, with the first of the batches.
      marked = await markBatch(database, request, clock.now(), recovered === 0 ? record : () => undefined)
  } catch (error) {
    throw isUnfitTime(error) ? INVALID_SINCE : error
  }
  if (recovered > 0) wake([endpointId])
  return { recovered }
}
