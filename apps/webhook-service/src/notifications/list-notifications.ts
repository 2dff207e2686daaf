import type { ListNotificationsRequest, ListNotificationsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { listDeliveries } from '../deliveries/list-deliveries'
import { notificationsOf } from './notification-row'

/** A page of the account's notifications, newest first, and how many there are in all that the filters let through. */
export const listNotifications = async (
  { notifications }: { notifications: Database },
  request: ListNotificationsRequest,
): Promise<ListNotificationsResponse> => {
  const { deliveries, ...page } = await listDeliveries({ database: notifications }, request)
  return { ...page, notifications: await notificationsOf(notifications, deliveries) }
}
