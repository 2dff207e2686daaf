import { Type } from '@sinclair/typebox'
import { pagedListOperation } from '../api/list-operation'
import { DELIVERY_FILTERS } from '../deliveries/delivery-schema'
import { NotificationRecord, notificationRecord } from './notification-schema'

export const listNotifications = pagedListOperation({
  route: 'GET /manage/notifications',
  operationId: 'listNotifications',
  tag: 'Notifications',
  summary: 'List notifications',
  what: 'notifications',
  filters: Type.Partial(Type.Object(DELIVERY_FILTERS)),
  record: NotificationRecord,
  find: async ({ accountId, clients, limits }, { status, lead_reference, ...place }) => {
    const asked = { accountId, status, leadReference: lead_reference?.toLowerCase(), ...place }
    const { notifications, ...rest } = await clients.webhooks.listNotifications(asked, limits)
    return { ...rest, records: notifications.map(notificationRecord) }
  },
})
