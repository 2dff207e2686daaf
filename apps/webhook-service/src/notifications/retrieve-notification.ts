import { findDelivery } from '../deliveries/retrieve-delivery'
import type { Operation } from '../operation'
import { notificationsOf } from './list-notifications'

/** A notification of the account with its attempts, first to last. Throws not_found. */
export const retrieveNotification: Operation<'retrieveNotification'> = async (
  { notifications },
  { accountId, notificationId: deliveryId },
) => {
  const { delivery, attempts } = await findDelivery(notifications, { accountId, deliveryId }, 'notification')
  const [notification] = await notificationsOf(notifications, [delivery])
  return { notification, attempts }
}
