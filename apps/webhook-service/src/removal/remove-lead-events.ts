import type { StreamMessage } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isUuid, validate } from '../arguments'
import type { Operation } from '../operation'
import { statement } from '../statement'

interface EventRow {
  eventId: string
  sequence: number | null
}

export const eventsOfLeads = statement<EventRow>('events-of-leads')`
  SELECT id AS "eventId", stream_sequence AS sequence FROM events
  WHERE lead_reference = ANY ($2::uuid[]) AND account_id = $1`

const deleteAttempts = statement('delete-attempts-of-events')`
  DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[])))`

const deleteDeliveries = statement('delete-deliveries-of-events')`
  DELETE FROM deliveries WHERE id = ANY (
    ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)
  )`

const deleteEvents = statement('delete-events')`DELETE FROM events WHERE id = ANY ($1::uuid[])`

/** Removes events with their deliveries and attempts. The result of an attempt in flight changes nothing then. */
export const removeEvents = (database: Database, ids: string[]): Promise<void> =>
  database.transaction(async (tx) => {
    for (const each of [deleteAttempts, deleteDeliveries, deleteEvents]) each.send(tx, ids)
  })

/** The messages of the stream that events came from. */
export const messagesOf = (events: EventRow[]): StreamMessage[] =>
  events.flatMap(({ eventId, sequence }) => (sequence === null ? [] : [{ eventId, sequence }]))

/** Removes the events of leads with their deliveries and attempts. Answers with their messages in the stream. Throws invalid. */
export const removeLeadEvents: Operation<
  'removeLeadEvents',
  'database' | 'notifications' | 'deleteMessages'
> = async ({ database, notifications, deleteMessages }, { accountId, leadReferences }) => {
  validate({ lead_references: leadReferences.every(isUuid) || 'must be UUIDs' })
  const idsOf = (events: { eventId: string }[]) => events.map(({ eventId }) => eventId)
  const [webhooks = [], messages = []] = await Promise.all(
    [database, notifications].map((tables) => eventsOfLeads(tables, accountId, leadReferences)),
  )
  await deleteMessages(idsOf(messages))
  await removeEvents(database, idsOf(webhooks))
  await removeEvents(notifications, idsOf(messages))
  return { messages: messagesOf([...webhooks, ...messages]) }
}
