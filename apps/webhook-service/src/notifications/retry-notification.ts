import { retryEither } from '../deliveries/retry-delivery'
import type { Operation } from '../operation'
import { notificationsOf } from './list-notifications'

/** Requests one attempt at once, of a notification in any state. Throws not_found and conflict, as `retryDelivery`. */
export const retryNotification: Operation<'retryNotification'> = async (dependencies, request) => {
  const { notifications: database, wake } = dependencies
  const key = { accountId: request.accountId, deliveryId: request.notificationId }
  const delivery = await retryEither({ ...dependencies, database }, key, 'notification')
  wake('notifications')
  const [notification] = await notificationsOf(database, [delivery])
  return { notification }
}
