import { eventBody } from '@leadwire/contracts'
import { activeTraceparent, type OpenTransaction, statement } from '@leadwire/service-kit'
import { recordNotification, type Subject } from '../../notifications/record-notification'
import { buildLeadEvent, type OutboxEvent, parkEvents } from '../../outbox/record-events'
import { isOpenEntry } from '../../scheduling/is-open-entry'
import { ENTRY_COLUMNS, type EntryRow, entryJson } from '../../scheduling/schedule'
import { removeDueEvents } from '../../scheduling/set-due-event'

interface CancelledEntry extends EntryRow {
  invitation_id: string
  /** The user whose calendar has the invitation. */
  invited_user_id: number | null
  sequence: number
}

const find = (subject: Subject) => statement<CancelledEntry>(`find-${subject}s-to-erase`)`
  SELECT ${ENTRY_COLUMNS}, t.invitation_id, t.invited_user_id, t.sequence FROM ${subject}s t
  WHERE t.account_id = $1 AND t.lead_id = $2 AND t.cancelled_at IS NULL
    AND (${isOpenEntry('t')} OR t.date > $3)
  ORDER BY t.id`

const cancel = (subject: Subject) => statement(`cancel-${subject}s-to-erase`)`
  UPDATE ${subject}s SET cancelled_at = $3, changed_at = $3, invited_user_id = NULL, sequence = sequence + 1
  WHERE account_id = $1 AND id = ANY ($2)`

interface ErasedLead {
  id: number
  reference: string
  test: boolean
  version: number
  api_key: string
  now: string
}

/**
 * Cancels the open appointments and callbacks of an erased lead, also those whose time has passed, and those
 * in the future that are done. Records an event of each cancellation. The event names no person. Also records
 * a notification to each invited user, because the invitation in the user's calendar names the person of the
 * lead. The events and notifications are not published until the lead's other events are erased. Resolves
 * with the ids of these events and notifications.
 */
export const cancelEntries = async (
  tx: OpenTransaction,
  accountId: number,
  lead: ErasedLead,
): Promise<string[]> => {
  const events: OutboxEvent[] = []
  const record = (event: OutboxEvent) => void events.push(event)
  for (const subject of ['appointment', 'callback'] as const) {
    const entries = await find(subject)(tx, accountId, lead.id, lead.now)
    cancel(subject).send(
      tx,
      accountId,
      entries.map(({ id }) => id),
      lead.now,
    )
    for (const entry of entries) {
      const type = `${subject}.cancelled` as const
      const data = entryJson({ ...entry, cancelled_at: lead.now }, lead.reference)
      record(
        buildLeadEvent({
          accountId,
          accountKey: lead.api_key,
          type,
          lead: { ...lead, version: lead.version + 1 },
          at: lead.now,
          traceparent: activeTraceparent(),
          body: eventBody(type, data),
        }),
      )
      const { id: entryId, date, invitation_id: invitationId, invited_user_id: userId } = entry
      if (userId === null) continue
      const notification = { accountId, leadId: lead.id, subject: type, userId, date, entryId, invitationId }
      await recordNotification({ ...tx, record }, { ...notification, sequence: entry.sequence + 1 })
    }
  }
  removeDueEvents(tx, accountId, lead.id)
  parkEvents(tx, events)
  return events.map(({ eventId }) => eventId)
}
