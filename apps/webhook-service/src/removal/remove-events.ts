import { isUuid, type StreamMessage } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import type { Dependencies, Operation } from '../operation'

interface EventRow {
  eventId: string
  sequence: number | null
}

export const eventsOfLeads = statement<EventRow>('events-of-leads')`
  SELECT id AS "eventId", stream_sequence AS sequence FROM events
  WHERE lead_reference = ANY ($2::uuid[]) AND account_id = $1`

/**
 * Locks the deliveries of events, by id as every statement that waits for locks of many deliveries. The statements that follow see an
 * attempt that was being recorded meanwhile.
 */
export const lockDeliveries = statement('lock-deliveries-of-events')`
  SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

const deleteEvents = statement('remove-events')`
  WITH of_events AS MATERIALIZED (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[])),
  attempts_of_events AS (
    DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM of_events))
  ), deliveries_of_events AS (
    DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM of_events))
  )
  DELETE FROM events WHERE id = ANY ($1::uuid[])`

/** Removes events with their deliveries and attempts. The result of an attempt in flight changes nothing then. */
export const removeEvents = (database: Database, ids: string[]): Promise<void> =>
  database.transaction(async (tx) => {
    lockDeliveries.send(tx, ids)
    deleteEvents.send(tx, ids)
  })

export const messagesOf = (events: EventRow[]): StreamMessage[] =>
  events.flatMap(({ eventId, sequence }) => (sequence === null ? [] : [{ eventId, sequence }]))

const idsOf = (events: EventRow[]) => events.map(({ eventId }) => eventId)

/** Removes the events of leads with their deliveries and attempts. Answers with their messages in the stream. Throws invalid. */
export const removeLeadEvents: Operation<'removeLeadEvents'> = async (
  { database, notifications, deleteMessages },
  { accountId, leadReferences },
) => {
  validate({ lead_references: leadReferences.every(isUuid) || 'must be UUIDs' })
  const webhooks = await eventsOfLeads(database, accountId, leadReferences)
  const messages = await eventsOfLeads(notifications, accountId, leadReferences)
  await deleteMessages(idsOf(messages))
  await removeEvents(database, idsOf(webhooks))
  await removeEvents(notifications, idsOf(messages))
  return { messages: messagesOf([...webhooks, ...messages]) }
}

const BATCH = 500

// Samples, and events of leads that were stored after those were removed: they have a number, and perhaps no delivery. In no order,
// for which PostgreSQL may walk past the rows of all others.
const remainingEvents = statement<{ id: string }>('remaining-events')`
  (SELECT event_id AS id FROM deliveries WHERE account_id = $1 LIMIT ${BATCH})
  UNION ALL (SELECT id FROM events WHERE account_id = $1 AND number IS NOT NULL LIMIT ${BATCH})`

const deleteAll = [
  ...[
    'replays',
    'recoveries',
    'endpoint_syncs',
    'endpoint_failures',
    'endpoint_hours',
    'endpoint_reports',
  ].map(
    (table) => statement(`delete-${table}-of-account`)`
      DELETE FROM ${table} WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))`,
  ),
  statement('delete-endpoints-of-account')`DELETE FROM endpoints WHERE account_id = $1`,
  statement('delete-hold-of-account')`DELETE FROM public.held_accounts WHERE account_id = $1`,
  statement('delete-counter-of-account')`DELETE FROM public.event_counters WHERE account_id = $1`,
]

const deleteAudit = statement('delete-audit-of-account')`
  DELETE FROM public.audit WHERE ctid = ANY (ARRAY (SELECT ctid FROM public.audit WHERE account_id = $1 LIMIT ${BATCH}))
  RETURNING id`

const removeFrom = async (
  database: Database,
  accountId: number,
  deleteMessages: Dependencies['deleteMessages'],
): Promise<boolean> => {
  const ids = (await remainingEvents(database, accountId)).map(({ id }) => id)
  await deleteMessages(ids)
  if (ids.length > 0) await removeEvents(database, ids)
  else
    await database.transaction(async (tx) => {
      for (const each of deleteAll) each.send(tx, accountId)
    })
  return ids.length === 0
}

/** Removes a batch of what remains of an account; `done`: that was all. `idempotency_keys` name no account, and end after 24 hours. */
export const removeAccount: Operation<'removeAccount'> = async (
  { database, notifications, deleteMessages },
  { accountId },
) => {
  const webhooks = await removeFrom(database, accountId, deleteMessages)
  const messages = await removeFrom(notifications, accountId, deleteMessages)
  const audit = await deleteAudit(database, accountId)
  return { done: webhooks && messages && audit.length < BATCH }
}
