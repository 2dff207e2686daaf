import { findDelivery } from '../deliveries/retrieve-delivery'
import type { Operation } from '../operation'
import { notificationsOf } from './notification-row'

/** A notification of the account with its attempts, first to last. Throws not_found. */
export const retrieveNotification: Operation<'retrieveNotification', 'notifications'> = async (
  { notifications },
  { accountId, notificationId },
) => {
  const key = { accountId, deliveryId: notificationId }
  const { delivery, attempts } = await findDelivery(notifications, key, 'notification')
  const [notification] = await notificationsOf(notifications, [delivery])
  return { notification, attempts }
}
