import { type Delivery, Notification, NotificationRequested } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { statement } from '../statement'

const bodiesOf = statement<{ id: string; body: Buffer }>('bodies-of-notifications')`
  SELECT id, body FROM events WHERE id = ANY ($1::uuid[])`

/** Deliveries of notifications with their subjects. */
export const notificationsOf = async (
  database: Database,
  deliveries: Delivery[],
): Promise<Notification[]> => {
  const events = await bodiesOf(
    database,
    deliveries.map(({ eventId }) => eventId),
  )
  const bodies = new Map(events.map(({ id, body }) => [id, NotificationRequested.decode(body)]))
  return deliveries.map((delivery) => {
    const { subject, userId, userEmail, date, failure } = bodies.get(delivery.eventId)!
    const endpointId = failure?.endpointId
    return Notification.fromPartial({ delivery, subject, userId, userEmail, date, endpointId })
  })
}
