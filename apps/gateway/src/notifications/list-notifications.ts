import { Type } from '@sinclair/typebox'
import { DELIVERY_FILTERS } from '../deliveries/delivery-filters'
import { pagedOperation } from '../paged-operation'
import { NotificationRecord, notificationRecord } from './notification-schema'

/** GET /manage/notifications. */
export const listNotifications = pagedOperation({
  url: '/manage/notifications',
  operationId: 'listNotifications',
  tag: 'Notifications',
  summary: 'List notifications',
  filters: Type.Partial(Type.Object(DELIVERY_FILTERS)),
  record: NotificationRecord,
  find: async ({ accountId, clients, limits }, { status, lead_reference, page }) => {
    const asked = { accountId, status, leadReference: lead_reference?.toLowerCase(), page }
    const { notifications, total, perPage } = await clients.webhooks.listNotifications(asked, limits)
    return { records: notifications.map(notificationRecord), total, perPage }
  },
})
