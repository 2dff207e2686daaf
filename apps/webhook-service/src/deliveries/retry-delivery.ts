import type { Actor, RetryDeliveryRequest, RetryDeliveryResponse } from '@leadwire/contracts'
import { type Database, recordAudit, ServiceError, type Transaction } from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'
import type { Clock } from '../clock'
import { type LockedEndpoint, lockEndpoint } from '../endpoints/lock-endpoint'
import { DELIVERY_COLUMNS, deliveryOf } from './delivery-row'

interface LockedRow {
  status: string
  next_attempt_at: string | null
  by_hand_at: string | null
  claimed: boolean
}

const reasonAgainst = (row: LockedRow, endpoint: LockedEndpoint, now: number): string | undefined => {
  if (endpoint.deleted) return 'Its endpoint was deleted.'
  if (!endpoint.enabled) return 'Its endpoint is disabled. What is held for it goes on when it is enabled.'
  if (row.claimed) return 'An attempt is under way.'
  const dueAt = row.by_hand_at ?? (['pending', 'held'].includes(row.status) ? row.next_attempt_at : null)
  return dueAt !== null && Date.parse(dueAt) <= now ? 'An attempt is due now already.' : undefined
}

const lockDelivery = async (tx: Transaction, deliveryId: number, what: string): Promise<LockedRow> => {
  const [row] = await tx.query<LockedRow>({
    name: 'lock-delivery',
    text: `SELECT status, next_attempt_at, by_hand_at, NOT ${UNCLAIMED} AS claimed FROM deliveries WHERE id = $1 FOR UPDATE`,
    values: [deliveryId],
  })
  // Between both statements it may have been pruned.
  if (!row) throw new ServiceError('not_found', `There is no such ${what}.`)
  return row
}

const isErased = async (tx: Transaction, deliveryId: number): Promise<boolean> => {
  const [row] = await tx.query<{ erased: boolean }>({
    name: 'is-event-erased',
    text: `SELECT e.erased_at IS NOT NULL AS erased FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.id = $1`,
    values: [deliveryId],
  })
  return row?.erased ?? false
}

const endpointOf = async (tx: Transaction, { accountId, deliveryId }: RetryDeliveryRequest, what: string) => {
  const [row] = await tx.query<{ endpoint_id: number }>({
    name: 'endpoint-of-delivery',
    text: 'SELECT endpoint_id FROM deliveries WHERE account_id = $1 AND id = $2',
    values: [accountId, deliveryId],
  })
  if (!row) throw new ServiceError('not_found', `There is no such ${what}.`)
  return row.endpoint_id
}

/**
 * Asks for one attempt at once, of a delivery in any state. It has the next number and starts no schedule: a pending
 * delivery's goes on as it was, an exhausted or delivered one is again what it was should the attempt fail.
 *
 * Throws not_found, lead_erased, and conflict while an attempt is under way or due at once, or its endpoint is disabled or deleted.
 */
export const retryDelivery = async (
  dependencies: {
    database: Database
    actor?: Actor | undefined
    clock: Clock
    wake: () => void
  },
  request: RetryDeliveryRequest,
  what: 'delivery' | 'notification' = 'delivery',
): Promise<RetryDeliveryResponse> => {
  const { database, actor, clock, wake } = dependencies
  const { accountId, deliveryId } = request
  const delivery = await database.transaction(async (tx) => {
    // The endpoint first, as everybody who locks both.
    const endpoint = await lockEndpoint(tx, await endpointOf(tx, request, what))
    const locked = await lockDelivery(tx, deliveryId, what)
    // Behind the lock, for which an erasure waits as well.
    if (await isErased(tx, deliveryId))
      throw new ServiceError(
        'lead_erased',
        'The personal data of its lead was erased: there is nothing to send.',
      )
    const now = clock.now()
    const reason = reasonAgainst(locked, endpoint, now.getTime())
    if (reason) throw new ServiceError('conflict', reason)
    const [updated] = await tx.query<object>({
      name: 'retry-delivery',
      text: `UPDATE deliveries SET by_hand_at = $2, updated_at = clock_timestamp() WHERE id = $1
             RETURNING ${DELIVERY_COLUMNS}`,
      values: [deliveryId, now.toISOString()],
    })
    recordAudit(tx, actor, { accountId, action: `${what}.retried`, targetId: deliveryId })
    return deliveryOf(updated!)
  })
  wake()
  return { delivery }
}
