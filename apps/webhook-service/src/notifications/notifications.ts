import { type Delivery, Notification, NotificationRequested } from '@leadwire/contracts'
import { type Database, statement, theRow } from '@leadwire/service-kit'
import { listDeliveries } from '../deliveries/list-deliveries'
import { findDelivery } from '../deliveries/retrieve-delivery'
import { retryEither } from '../deliveries/retry-delivery'
import type { Operation } from '../operation'

const bodiesOf = statement<{ id: string; body: Buffer }>('bodies-of-notifications')`
  SELECT id, body FROM events WHERE id = ANY ($1::uuid[])`

const notificationsOf = async (database: Database, deliveries: Delivery[]): Promise<Notification[]> => {
  const eventIds = deliveries.map(({ eventId }) => eventId)
  const events = await bodiesOf(database, eventIds)
  const bodies = new Map(events.map(({ id, body }) => [id, NotificationRequested.decode(body)]))
  // Without those that were pruned meanwhile.
  return deliveries.flatMap((delivery) => {
    const event = bodies.get(delivery.eventId)
    if (!event) return []
    const { subject, userId, userEmail, date, failure } = event
    const endpointId = failure?.endpointId
    return Notification.fromPartial({ delivery, subject, userId, userEmail, date, endpointId })
  })
}

/** A page of the account's notifications, newest first, as `listDeliveries` pages. Throws invalid. */
export const listNotifications: Operation<'listNotifications'> = async (dependencies, request) => {
  const { notifications: database } = dependencies
  const { deliveries, ...page } = await listDeliveries({ ...dependencies, database }, request)
  return { ...page, notifications: await notificationsOf(database, deliveries) }
}

/** A notification of the account with its attempts, first to last. Throws not_found. */
export const retrieveNotification: Operation<'retrieveNotification'> = async (
  { notifications },
  { accountId, notificationId: deliveryId },
) => {
  const { delivery, attempts } = await findDelivery(notifications, { accountId, deliveryId }, 'notification')
  const notification = theRow(await notificationsOf(notifications, [delivery]), 'notification')
  return { notification, attempts }
}

/** Requests one attempt at once, of a notification in any state. Throws not_found and conflict, as `retryDelivery`. */
export const retryNotification: Operation<'retryNotification'> = async (dependencies, request) => {
  const { notifications: database, wake } = dependencies
  const key = { accountId: request.accountId, deliveryId: request.notificationId }
  const delivery = await retryEither({ ...dependencies, database }, key, 'notification')
  wake('notifications')
  const [notification] = await notificationsOf(database, [delivery])
  return { notification }
}
