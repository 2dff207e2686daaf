import { retryEither } from '../deliveries/retry-delivery'
import type { Operation } from '../operation'
import { notificationsOf } from './notification-row'

/** Requests one attempt at once, of a notification in any state. Throws not_found and conflict, as `retryDelivery`. */
export const retryNotification: Operation<
  'retryNotification',
  'notifications' | 'actor' | 'clock' | 'wake'
> = async ({ notifications: database, actor, clock, wake }, { accountId, notificationId }) => {
  const key = { accountId, deliveryId: notificationId }
  const delivery = await retryEither({ database, actor, clock }, key, 'notification')
  wake('notifications')
  const [notification] = await notificationsOf(database, [delivery])
  return { notification }
}
