import type { Actor, RetryNotificationRequest, RetryNotificationResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { retryDelivery } from '../deliveries/retry-delivery'
import { notificationsOf } from './notification-row'

/** Asks for one attempt at once, of a notification in any state. Throws not_found, and conflict while one is under way. */
export const retryNotification = async (
  dependencies: {
    notifications: Database
    actor?: Actor | undefined
    clock: Clock
    wakeNotifier: () => void
  },
  { accountId, notificationId }: RetryNotificationRequest,
): Promise<RetryNotificationResponse> => {
  const { notifications: database, actor, clock, wakeNotifier: wake } = dependencies
  const key = { accountId, deliveryId: notificationId }
  const { delivery } = await retryDelivery({ database, actor, clock, wake }, key, 'notification')
  const [notification] = await notificationsOf(database, [delivery!])
  return { notification }
}
