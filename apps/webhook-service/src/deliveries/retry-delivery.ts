import type { Delivery, RetryDeliveryRequest } from '@leadwire/contracts'
import { recordAudit, ServiceError, statement, theRow } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, deliveryOf, UNCLAIMED } from '../delivery-sql'
import { type LockedEndpoint, lockEndpoint } from '../endpoints/endpoint-row'
import type { Dependencies, Operation } from '../operation'

type LockedRow = { claimed: boolean; due: boolean | null }

const endpointOf = statement<{ endpointId: number }>('endpoint-of-delivery')`
  SELECT endpoint_id AS "endpointId" FROM deliveries WHERE account_id = $1 AND id = $2`

const lock = statement<LockedRow>('lock-delivery')`
  SELECT NOT ${UNCLAIMED} AS claimed, coalesce(manual_at, next_attempt_at) <= $2 AS due
  FROM deliveries WHERE id = $1 FOR UPDATE`

const eventOf = statement<{ erased: boolean }>('is-event-erased')`
  SELECT e.erased_at IS NOT NULL AS erased FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.id = $1`

const requestAttempt = statement('retry-delivery')`
  UPDATE deliveries SET manual_at = $2, updated_at = clock_timestamp() WHERE id = $1 RETURNING ${DELIVERY_COLUMNS}`

const reasonAgainst = ({ claimed, due }: LockedRow, endpoint: LockedEndpoint): string | undefined => {
  if (endpoint.deleted) return 'Its endpoint was deleted.'
  if (!endpoint.enabled) return 'Its endpoint is disabled. What is held for it goes on when it is enabled.'
  if (claimed) return 'An attempt is in flight.'
  return due ? 'An attempt is due now already.' : undefined
}

/** Of either kind: the tables of `database` have it. */
export const retryEither = (
  { database, clock, actor }: Dependencies,
  { accountId, deliveryId }: RetryDeliveryRequest,
  what: 'delivery' | 'notification',
): Promise<Delivery> => {
  const now = clock.now()
  return database.transaction(async (tx) => {
    // Throws not_found: a delivery may be pruned between any two statements.
    const { endpointId } = theRow(await endpointOf(tx, accountId, deliveryId), what)
    // The endpoint first, as in every transaction that locks both.
    const endpoint = await lockEndpoint(tx, endpointId)
    const locked = theRow(await lock(tx, deliveryId, now), what)
    // Behind the lock, which an erasure waits for as well.
    const [event] = await eventOf(tx, deliveryId)
    if (event?.erased)
      throw new ServiceError(
        'lead_erased',
        'The personal data of its lead was erased: there is nothing to send.',
      )
    const reason = reasonAgainst(locked, endpoint)
    if (reason) throw new ServiceError('conflict', reason)
    const [updated] = await requestAttempt(tx, deliveryId, now)
    recordAudit(tx, actor, { accountId, action: `${what}.retried`, targetId: deliveryId })
    return deliveryOf(updated!)
  })
}

/**
 * Requests one attempt at once, of a delivery in any state. It starts no schedule and changes none; a failure leaves the status.
 * Throws not_found, lead_erased, and conflict while an attempt is in flight or due, or with a disabled or deleted endpoint.
 */
export const retryDelivery: Operation<'retryDelivery'> = async (dependencies, request) => {
  const delivery = await retryEither(dependencies, request, 'delivery')
  dependencies.wake('webhooks')
  return { delivery }
}
