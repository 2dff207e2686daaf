import { listDeliveries } from '../deliveries/list-deliveries'
import type { Operation } from '../operation'
import { notificationsOf } from './notification-row'

/** A page of the account's notifications, newest first, as `listDeliveries` pages. Throws invalid. */
export const listNotifications: Operation<'listNotifications', 'notifications'> = async (
  { notifications },
  request,
) => {
  const { deliveries, ...page } = await listDeliveries({ database: notifications }, request)
  return { ...page, notifications: await notificationsOf(notifications, deliveries) }
}
