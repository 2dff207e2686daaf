import { NotificationRequested } from '@leadwire/contracts'
import { activeTraceparent, newEventId, statement } from '@leadwire/service-kit'
import type { RecordingTransaction } from '../outbox/record-events'

const find = statement<{ leadReference: string }>('find-notified')`
  SELECT l.reference AS "leadReference", l.name AS "leadName", l.status AS "leadStatus",
    u.email AS "userEmail", u.name AS "userName", a.name AS "accountName",
    btrim(concat_ws(' ', l.first_name, l.last_name)) AS "customerName", l.email AS "customerEmail",
    l.phone AS "customerPhone", l.postcode AS "customerPostcode", clock_timestamp() AS "requestedAt"
  FROM leads l
  JOIN users u ON u.account_id = l.account_id AND u.id = $3 AND u.removed_at IS NULL
  JOIN accounts a ON a.id = l.account_id
  WHERE l.account_id = $1 AND l.id = $2`

export type Subject = 'appointment' | 'callback'

/**
 * Records a notification to a user, with all data that its message needs. Uses the transaction of the change
 * that the notification is about. A removed user gets no notification.
 */
export const recordNotification = async (
  tx: RecordingTransaction,
  notification: {
    accountId: number
    leadId: number
    subject: 'assigned' | Subject | `${Subject}.rescheduled` | `${Subject}.cancelled` | `${Subject}.due`
    userId: number
    date?: string
    entryId?: number
    /**
     * The invitation that the notification changes or cancels. Absent in the first notification of an
     * invitation. The `eventId` of this first notification becomes the id of the invitation.
     */
    invitationId?: string
    sequence?: number
    eventId?: string
  },
): Promise<void> => {
  const { accountId, leadId, userId } = notification
  const [found] = await find(tx, accountId, leadId, userId)
  if (!found) return
  const { eventId = newEventId() } = notification
  const event = NotificationRequested.fromPartial({ ...notification, ...found, eventId })
  const payload = NotificationRequested.encode(event).finish()
  const { leadReference } = found
  const traceparent = activeTraceparent()
  tx.record({ eventId, accountId, type: 'notification.requested', payload, leadReference, traceparent })
}
