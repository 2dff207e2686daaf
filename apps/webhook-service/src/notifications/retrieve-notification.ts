import type { RetrieveNotificationRequest, RetrieveNotificationResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { findDelivery } from '../deliveries/retrieve-delivery'
import { notificationsOf } from './notification-row'

/** One notification of the account with every attempt made, first to last. Throws not_found. */
export const retrieveNotification = async (
  { notifications }: { notifications: Database },
  { accountId, notificationId }: RetrieveNotificationRequest,
): Promise<RetrieveNotificationResponse> => {
  const key = { accountId, deliveryId: notificationId }
  const { delivery, attempts } = await findDelivery(notifications, key, 'notification')
  const [notification] = await notificationsOf(notifications, [delivery])
  return { notification, attempts }
}
