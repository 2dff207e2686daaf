import { type Database, type EventMessage, statement } from '@leadwire/service-kit'
import type { Dependencies, Operation } from '../operation'

export const findLeadEvents = statement<{ id: string }>('events-of-leads')`
  SELECT id FROM events WHERE lead_reference = ANY ($2::uuid[]) AND account_id = $1`

/** Finds all messages of events that have arrived, including duplicates and dead letters. */
export const findEventMessages = statement<EventMessage>('messages-of-events')`
  SELECT id AS "eventId", stream_sequence AS sequence FROM events
  WHERE id = ANY ($1::uuid[]) AND stream_sequence IS NOT NULL
  UNION SELECT event_id, stream_sequence FROM public.event_messages WHERE event_id = ANY ($1::uuid[])`

/**
 * Locks the deliveries of events in the order of their ids, as every statement that waits for the locks of
 * many deliveries does. Waits for attempts that are being recorded, so that the following statements see
 * these attempts.
 */
export const lockDeliveries = statement('lock-deliveries-of-events')`
  SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

// A fan-out locks its events, too. So this statement waits until the deliveries of a running fan-out are
// committed, and the deletion finds them.
const lockEvents = statement('lock-events-to-remove')`
  SELECT id FROM events WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE`

const deleteEvents = statement('remove-events')`
  WITH of_events AS MATERIALIZED (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[])),
  attempts_of_events AS (
    DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM of_events))
  ), deliveries_of_events AS (
    DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM of_events))
  ), queued AS (
    DELETE FROM fan_out_queue WHERE event_id = ANY ($1::uuid[])
  ), links AS (
    DELETE FROM notifications.sign_in_links WHERE event_id = ANY ($1::uuid[])
  )
  DELETE FROM events WHERE id = ANY ($1::uuid[])`

/** Removes events with their deliveries and attempts. The result of an attempt in flight is then ignored. */
export const removeEvents = (database: Database, ids: string[]): Promise<void> =>
  database.transaction(async (tx) => {
    lockEvents.send(tx, ids)
    lockDeliveries.send(tx, ids)
    deleteEvents.send(tx, ids)
  })

const listIds = (events: { id: string }[]) => events.map(({ id }) => id)

/** Removes the events of leads with their deliveries and attempts. Returns their messages in the stream. */
export const removeLeadEvents: Operation<'removeLeadEvents'> = async (
  { database, notifications, deleteMessages },
  { accountId, leadReferences },
) => {
  const webhookIds = listIds(await findLeadEvents(database, accountId, leadReferences))
  const notificationIds = listIds(await findLeadEvents(notifications, accountId, leadReferences))
  const ofWebhooks = await findEventMessages(database, webhookIds)
  const ofNotifications = await findEventMessages(notifications, notificationIds)
  await deleteMessages(notificationIds)
  await removeEvents(database, webhookIds)
  await removeEvents(notifications, notificationIds)
  return { messages: [...ofWebhooks, ...ofNotifications] }
}

/** How many rows one call deletes. */
const BATCH = 500

// Finds the events that remain after the removal of all leads: samples, and events that were stored after
// their leads were removed. Samples are found by their deliveries, and the other events by their numbers.
// Uses no ORDER BY, because PostgreSQL might then scan the rows of all other accounts.
const findRemaining = statement<{ id: string }>('remaining-events')`
  (SELECT event_id AS id FROM deliveries WHERE account_id = $1 LIMIT ${BATCH})
  UNION ALL (SELECT id FROM events WHERE account_id = $1 AND number IS NOT NULL LIMIT ${BATCH})`

const TABLES_BY_ENDPOINT = [
  'replays',
  'endpoint_syncs',
  'unreviewed_attempts',
  'endpoint_failures',
  'endpoint_hours',
  'endpoint_reports',
]

const deleteByEndpoint = TABLES_BY_ENDPOINT.map(
  (table) => statement(`delete-${table}-of-account`)`
    DELETE FROM ${table} WHERE endpoint_id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1))`,
)

const deleteByAccount = [
  // Deletes `message_counts` before the mailbox, which is an endpoint, because `limitMessages` locks the rows
  // in this order.
  statement('delete-message-counts-of-account')`
    DELETE FROM notifications.message_counts WHERE account_id = $1`,
  statement('delete-endpoints-of-account')`DELETE FROM endpoints WHERE account_id = $1`,
  statement('delete-hold-of-account')`DELETE FROM public.held_accounts WHERE account_id = $1`,
  statement('delete-counter-of-account')`DELETE FROM public.event_counters WHERE account_id = $1`,
]

const deleteAudit = statement('delete-audit-of-account')`
  DELETE FROM public.audit
  WHERE ctid = ANY (ARRAY (SELECT ctid FROM public.audit WHERE account_id = $1 LIMIT ${BATCH}))
  RETURNING id`

/**
 * Removes a batch of the remaining events of an account. If no events remain, removes all other rows of the
 * account, and resolves with true.
 */
const removeFrom = async (
  database: Database,
  accountId: number,
  deleteMessages: Dependencies['deleteMessages'],
): Promise<boolean> => {
  const remaining = await findRemaining(database, accountId)
  const ids = listIds(remaining)
  await deleteMessages(ids)
  if (ids.length > 0) {
    await removeEvents(database, ids)
    return false
  }
  await database.transaction(async (tx) => {
    for (const each of [...deleteByEndpoint, ...deleteByAccount]) each.send(tx, accountId)
  })
  return true
}

/**
 * Removes a batch of the rows that remain of an account. `done` is true if no rows remain. `idempotency_keys`
 * stay, because they do not name the account and expire after `IDEMPOTENCY_RETENTION`.
 */
export const removeAccount: Operation<'removeAccount'> = async (
  { database, notifications, deleteMessages },
  { accountId },
) => {
  const webhooks = await removeFrom(database, accountId, deleteMessages)
  const messages = await removeFrom(notifications, accountId, deleteMessages)
  const audit = await deleteAudit(database, accountId)
  return { done: webhooks && messages && audit.length < BATCH }
}
