import { randomUUID } from 'node:crypto'
import { NotificationRequested } from '@leadwire/contracts'
import { activeTraceparent, statement } from '@leadwire/service-kit'
import type { RecordingTransaction } from '../outbox/record-events'

const find = statement<{ leadReference: string; requestedAt: string }>('find-notified')`
  SELECT l.reference AS "leadReference", l.name AS "leadName", l.status AS "leadStatus",
    u.email AS "userEmail", u.name AS "userName", a.name AS "accountName",
    concat_ws(' ', l.first_name, l.last_name) AS "customerName", l.email AS "customerEmail",
    l.phone AS "customerPhone", l.postcode AS "customerPostcode", clock_timestamp() AS "requestedAt"
  FROM leads l
  JOIN users u ON u.account_id = l.account_id AND u.id = $3 AND u.removed_at IS NULL
  JOIN accounts a ON a.id = l.account_id
  WHERE l.account_id = $1 AND l.id = $2`

export type Subject = 'appointment' | 'callback'

/** Records a notification of a user, with all that its message needs, in the transaction of its cause. A removed user gets none. */
export const recordNotification = async (
  tx: RecordingTransaction,
  notification: {
    accountId: number
    leadId: number
    subject: 'assigned' | Subject | `${Subject}.rescheduled` | `${Subject}.cancelled`
    userId: number
    date?: string
    entryId?: number
    /** Of the invitation that it changes or cancels. The first of an invitation has it as its event's id. */
    invitationId?: string
    sequence?: number
    eventId?: string
  },
): Promise<void> => {
  const { accountId, leadId, userId } = notification
  const [found] = await find(tx, accountId, leadId, userId)
  if (!found) return
  const { eventId = randomUUID() } = notification
  const event = NotificationRequested.fromPartial({ ...notification, ...found, eventId })
  const payload = NotificationRequested.encode(event).finish()
  const { leadReference, requestedAt: publishedAt } = found
  const known = { eventId, accountId, payload, leadReference, publishedAt }
  tx.record({ ...known, type: 'notification.requested', traceparent: activeTraceparent() })
}
