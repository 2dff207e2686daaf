import { type Delivery, Notification, NotificationRequested } from '@leadwire/contracts'
import { type Database, statement, theRow } from '@leadwire/service-kit'
import { listDeliveries } from '../deliveries/list-deliveries'
import { findDelivery } from '../deliveries/retrieve-delivery'
import { requestAttempt } from '../deliveries/retry-delivery'
import type { Operation } from '../operation'

const selectBodies = statement<{ id: string; body: Buffer }>('bodies-of-notifications')`
  SELECT id, body FROM events WHERE id = ANY ($1::uuid[])`

const readNotifications = async (database: Database, deliveries: Delivery[]): Promise<Notification[]> => {
  const eventIds = deliveries.map(({ eventId }) => eventId)
  const events = await selectBodies(database, eventIds)
  const bodies = new Map(events.map(({ id, body }) => [id, NotificationRequested.decode(body)]))
  return deliveries.flatMap((delivery) => {
    const event = bodies.get(delivery.eventId)
    // The notification was pruned after its delivery was read.
    if (!event) return []
    const { subject, userId, userEmail, date, failure } = event
    const endpointId = failure?.endpointId
    return Notification.fromPartial({ delivery, subject, userId, userEmail, date, endpointId })
  })
}

/** Returns a page of the account's notifications, newest first, in the same way as `listDeliveries`. */
export const listNotifications: Operation<'listNotifications'> = async (dependencies, request) => {
  const { notifications: database } = dependencies
  const { deliveries, ...page } = await listDeliveries({ ...dependencies, database }, request)
  return { ...page, notifications: await readNotifications(database, deliveries) }
}

/** Returns a notification with its attempts in their order. Throws `not_found`. */
export const retrieveNotification: Operation<'retrieveNotification'> = async (
  { notifications },
  { accountId, notificationId: deliveryId },
) => {
  const { delivery, attempts } = await findDelivery(notifications, { accountId, deliveryId }, 'notification')
  const notification = theRow(await readNotifications(notifications, [delivery]), 'notification')
  return { notification, attempts }
}

/**
 * Requests one immediate attempt of a notification with any status. Throws the same errors as
 * `retryDelivery`.
 */
export const retryNotification: Operation<'retryNotification'> = async (dependencies, request) => {
  const { notifications: database, wake } = dependencies
  const key = { accountId: request.accountId, deliveryId: request.notificationId }
  const delivery = await requestAttempt({ ...dependencies, database }, key, 'notification')
  wake('notifications')
  const [notification] = await readNotifications(database, [delivery])
  return { notification }
}
