import type { Delivery, RetryDeliveryRequest } from '@leadwire/contracts'
import { recordAudit, ServiceError, statement, theRow } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, isUnclaimed, readDelivery } from '../delivery-sql'
import { type LockedEndpoint, lockEndpoint } from '../endpoints/endpoint-row'
import type { Dependencies, Operation } from '../operation'

type LockedRow = { claimed: boolean; due: boolean | null }

const findEndpoint = statement<{ endpointId: number }>('endpoint-of-delivery')`
  SELECT endpoint_id AS "endpointId" FROM deliveries WHERE account_id = $1 AND id = $2`

const lock = statement<LockedRow>('lock-delivery')`
  SELECT NOT ${isUnclaimed(':claimMs::int')} AS claimed, coalesce(manual_at, next_attempt_at) <= :now AS due
  FROM deliveries WHERE id = :deliveryId FOR UPDATE`

const findEvent = statement<{ erased: boolean }>('is-event-erased')`
  SELECT e.erased_at IS NOT NULL AS erased FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.id = $1`

const markManual = statement('retry-delivery')`
  UPDATE deliveries SET manual_at = :now, updated_at = clock_timestamp() WHERE id = :deliveryId
  RETURNING ${DELIVERY_COLUMNS}`

/** Returns the reason why no attempt can be requested, or undefined if an attempt can be requested. */
const findObstacle = ({ claimed, due }: LockedRow, endpoint: LockedEndpoint): string | undefined => {
  if (endpoint.deleted) return 'The endpoint of this delivery was deleted.'
  if (!endpoint.enabled)
    return 'The endpoint of this delivery is disabled. Enable it to resume its held deliveries.'
  if (claimed) return 'An attempt is in flight. Wait until it has ended.'
  return due ? 'An attempt is already due and starts shortly.' : undefined
}

/** Requests one attempt of a webhook delivery or of a notification, in the tables of `database`. */
export const requestAttempt = (
  { database, clock, actor, claimMs: claims }: Dependencies,
  { accountId, deliveryId }: RetryDeliveryRequest,
  what: 'delivery' | 'notification',
): Promise<Delivery> => {
  const now = clock.now()
  const claimMs = what === 'delivery' ? claims.webhooks : claims.notifications
  return database.transaction(async (tx) => {
    const { endpointId } = theRow(await findEndpoint(tx, accountId, deliveryId), what)
    // Locks the endpoint before the delivery, as every transaction that locks both does.
    const endpoint = await lockEndpoint(tx, endpointId)
    // The delivery may have been pruned since it was found.
    const locked = theRow(await lock(tx, { deliveryId, now, claimMs }), what)
    // Reads the event only after the delivery is locked. An erasure also locks the delivery, so an erasure
    // has either committed or waits for this transaction.
    const [event] = await findEvent(tx, deliveryId)
    if (event?.erased)
      throw new ServiceError(
        'lead_erased',
        'The personal data of the lead was erased, so there is nothing to send.',
      )
    const reason = findObstacle(locked, endpoint)
    if (reason) throw new ServiceError('conflict', reason)
    const [updated] = await markManual(tx, { deliveryId, now })
    recordAudit(tx, actor, { accountId, action: `${what}.retried`, targetId: deliveryId })
    return readDelivery(updated!)
  })
}

/**
 * Requests one immediate attempt of a delivery with any status. The attempt does not change the schedule, and
 * a failure does not change the status. Throws `not_found` and `lead_erased`. Throws `conflict` if an attempt
 * is in flight or due, or if the endpoint is disabled or deleted.
 */
export const retryDelivery: Operation<'retryDelivery'> = async (dependencies, request) => {
  const delivery = await requestAttempt(dependencies, request, 'delivery')
  dependencies.wake('webhooks')
  return { delivery }
}
