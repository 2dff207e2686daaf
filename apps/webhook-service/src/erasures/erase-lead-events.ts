import {
  type EraseLeadEventsRequest,
  type EraseLeadEventsResponse,
  NotificationRequested,
} from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isUuid } from '../uuid'
import { type ErasedLead, eraseEventsOfLead } from './erase-events-of-lead'

// By the lead, of which the index of events knows: one on deliveries would be paid for with every attempt.
const COUNT = `
  WITH of_lead AS MATERIALIZED (
    SELECT id, stream_sequence, created_at, sample FROM events
    WHERE lead_reference = $2 AND account_id = $1 AND erased_at IS NOT NULL
  )
  SELECT (SELECT count(*)::int FROM of_lead) AS events, count(*) FILTER (WHERE d.status = 'cancelled')::int AS cancelled,
    coalesce(sum(d.attempt_count), 0)::int AS attempts,
    (SELECT max(created_at) FROM of_lead WHERE stream_sequence IS NULL AND NOT sample) AS "unplacedAt"
  FROM deliveries d WHERE d.event_id = ANY (ARRAY (SELECT id FROM of_lead))`

const SELECT =
  'SELECT id AS "eventId", stream_sequence AS sequence FROM events WHERE lead_reference = $2 AND account_id = $1'

const HELD = 'SELECT id FROM events WHERE id = ANY ($1::uuid[])'

interface Counts {
  events: number
  cancelled: number
  attempts: number
  unplacedAt: string | null
}

// The user whom a notification tells is none of the lead's persons: who was told of what and when stays.
const redactNotification = (body: Buffer): Buffer => {
  const { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt } =
    NotificationRequested.decode(body)
  const kept = { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt }
  return Buffer.from(NotificationRequested.encode(NotificationRequested.fromPartial(kept)).finish())
}

const nothing = () => Buffer.alloc(0)

const stateOf = async (database: Database, { accountId, leadReference }: ErasedLead) => {
  const values = [accountId, leadReference]
  const [counts] = await database.query<Counts>({ name: 'count-erased', text: COUNT, values })
  const events = await database.query<{ eventId: string; sequence: number | null }>({ text: SELECT, values })
  return { counts: counts!, events }
}

/**
 * Erases what is held of a lead: the bodies of its events, the responses to them, the messages that were written to a folder. What
 * is still to be sent is cancelled. May be repeated; answers with all that is erased by now. Throws invalid.
 */
export const eraseLeadEvents = async (
  {
    database,
    notifications,
    forgetMessages,
  }: {
    database: Database
    notifications: Database
    forgetMessages: (eventIds: string[]) => Promise<void>
  },
  { accountId, leadReference, eventIds, bury }: EraseLeadEventsRequest,
): Promise<EraseLeadEventsResponse> => {
  if (!isUuid(leadReference) || !eventIds.every(isUuid))
    throw ServiceError.invalid({ lead_reference: ['must be a UUID, and so must events'] })
  const lead = { accountId, leadReference }
  const kinds = [database, notifications]
  const heldIn = (kind: Database) => kind.query<{ id: string }>({ text: HELD, values: [eventIds] })
  const held = (await Promise.all(kinds.map(heldIn))).flat().map(({ id }) => id)
  const missing = eventIds.filter((id) => !held.includes(id))
  const buried = bury ? missing : []
  await eraseEventsOfLead(database, lead, { redact: nothing, bury: buried })
  await eraseEventsOfLead(notifications, lead, { redact: redactNotification, bury: buried })
  const [webhooks, messages] = await Promise.all([stateOf(database, lead), stateOf(notifications, lead)])
  await forgetMessages(messages.events.map(({ eventId }) => eventId))
  const unplaced = [webhooks, messages].flatMap(({ counts }) => counts.unplacedAt ?? [])
  return {
    webhookEvents: webhooks.counts.events,
    notificationEvents: messages.counts.events,
    cancelledDeliveries: webhooks.counts.cancelled + messages.counts.cancelled,
    attempts: webhooks.counts.attempts + messages.counts.attempts,
    messages: [...webhooks.events, ...messages.events].flatMap(({ eventId, sequence }) =>
      sequence === null ? [] : [{ eventId, sequence }],
    ),
    missingEventIds: bury ? [] : missing,
    unplacedAt: unplaced.toSorted().at(-1),
  }
}
