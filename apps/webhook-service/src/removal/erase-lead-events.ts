import { type EraseLeadEventsRequest, NotificationRequested } from '@leadwire/contracts'
import { type Database, type OpenTransaction, statement } from '@leadwire/service-kit'
import { findStoredEvents } from '../delivery/append/find-stored-events'
import { isUnclaimed } from '../delivery-sql'
import type { Operation } from '../operation'
import { findEventMessages, findLeadEvents, lockDeliveries } from './remove-events'

/** How many events one transaction erases. The number is small, because an event may have many deliveries. */
const BATCH = 20

// Keeps the events that report the erasure itself.
const lockNextEvents = statement<{ id: string; body: Buffer }>('events-to-erase')`
  SELECT id, body FROM events
  WHERE lead_reference = :leadReference AND account_id = :accountId AND erased_at IS NULL
    AND type <> 'lead.erased' AND id <> ALL (:keptEventIds::uuid[])
  ORDER BY id LIMIT ${BATCH} FOR UPDATE`

const eraseEvents = statement('erase-events')`
  UPDATE events
  SET body = e.body, body_with_attributes = NULL, match = NULL, traceparent = NULL, erased_at = clock_timestamp()
  FROM unnest(:ids::uuid[], :bodies::bytea[]) AS e (id, body) WHERE events.id = e.id`

// Cancels exhausted deliveries, too, because they could be attempted again. If an attempt is in flight, its
// delivery gets the claim number -1, which no process uses, so that the response is not recorded.
// `claimed_until` stays, so that the end of the attempt is known.
const cancelDeliveries = statement('cancel-deliveries-of-events')`
  UPDATE deliveries SET
    status = CASE WHEN status = 'delivered' THEN status ELSE 'cancelled' END,
    next_attempt_at = NULL, manual_at = NULL, updated_at = clock_timestamp(),
    claim = CASE WHEN NOT ${isUnclaimed(':claimMs::int')} THEN -1 END,
    claimed_until = CASE WHEN NOT ${isUnclaimed(':claimMs::int')} THEN claimed_until END
  WHERE event_id = ANY (:ids::uuid[])`

const eraseResponses = statement('erase-responses')`
  UPDATE attempts SET response = NULL
  WHERE response IS NOT NULL
    AND delivery_id = ANY (ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[])))`

const insertTombstones = statement('insert-tombstones')`
  INSERT INTO events (id, account_id, account_key, lead_reference, body, erased_at)
  SELECT id, :accountId, '', :leadReference, '', clock_timestamp() FROM unnest(:tombstones::uuid[]) AS id ORDER BY id
  ON CONFLICT (id) DO NOTHING`

interface Counts {
  events: number
  cancelled: number
  attempts: number
  inFlight: boolean
  /** The creation time of the newest event whose message in the stream is unknown. */
  unplacedAt: string | null
}

// Finds the deliveries through the events, because only the table of events has an index on the lead. A
// tombstone does not count as an event, because the event for which it was stored has never arrived.
const count = statement<Counts>('count-erased')`
  WITH of_lead AS MATERIALIZED (
    SELECT id, stream_sequence, created_at, sample, account_key = '' AND length(body) = 0 AS is_tombstone
    FROM events
    WHERE lead_reference = :leadReference AND account_id = :accountId AND erased_at IS NOT NULL
  )
  SELECT (SELECT count(*)::int FROM of_lead WHERE NOT is_tombstone) AS events,
    count(*) FILTER (WHERE d.status = 'cancelled')::int AS cancelled,
    coalesce(sum(d.attempt_count), 0)::int AS attempts,
    coalesce(bool_or(NOT ${isUnclaimed(':claimMs::int')}), false) AS "inFlight",
    (SELECT max(created_at) FROM of_lead WHERE stream_sequence IS NULL AND NOT sample) AS "unplacedAt"
  FROM deliveries d WHERE d.event_id = ANY (ARRAY (SELECT id FROM of_lead))`

/**
 * Removes the personal data of a lead from a notification. Keeps which user was notified, when and of what,
 * because the erasure does not concern the user.
 */
const redactNotification = (body: Buffer): Buffer => {
  const { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt } =
    NotificationRequested.decode(body)
  const kept = { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt }
  return Buffer.from(NotificationRequested.encode(NotificationRequested.fromPartial(kept)).finish())
}

const eraseIn = async (
  database: Database,
  { accountId, leadReference, keptEventIds }: EraseLeadEventsRequest,
  {
    redact,
    tombstones,
    claimMs,
  }: { redact: (body: Buffer) => Buffer; tombstones: string[]; claimMs: number },
) => {
  const lead = { accountId, leadReference }
  if (tombstones.length > 0) await insertTombstones(database, { ...lead, tombstones })
  const eraseBatch = async (tx: OpenTransaction): Promise<number> => {
    const events = await lockNextEvents(tx, { ...lead, keptEventIds })
    const ids = events.map(({ id }) => id)
    const bodies = events.map(({ body }) => redact(body))
    eraseEvents.send(tx, { ids, bodies })
    lockDeliveries.send(tx, ids)
    cancelDeliveries.send(tx, { ids, claimMs })
    eraseResponses.send(tx, ids)
    return ids.length
  }
  let erased: number
  do {
    erased = await database.transaction(eraseBatch)
  } while (erased === BATCH)
  const [counts] = await count(database, { ...lead, claimMs })
  const events = await findLeadEvents(database, accountId, [leadReference])
  const eventIds = events.map(({ id }) => id).filter((id) => !keptEventIds.includes(id))
  return { ...counts!, eventIds, streamMessages: await findEventMessages(database, eventIds) }
}

/**
 * Erases the bodies of a lead's events, the responses of receivers, and .eml files. Cancels all deliveries
 * that are not delivered. With `tombstone`, stores an empty event for each of `eventIds` that is not stored,
 * so that a message that arrives later cannot store the event. May be repeated. Reports everything that this
 * call and earlier calls have erased.
 */
export const eraseLeadEvents: Operation<'eraseLeadEvents'> = async (dependencies, request) => {
  const { database, notifications, deleteMessages, claimMs } = dependencies
  const { eventIds, tombstone } = request
  const { eventIds: stored } = await findStoredEvents(dependencies, { eventIds })
  const missing = eventIds.filter((id) => !stored.includes(id))
  const tombstones = tombstone ? missing : []
  const webhooks = await eraseIn(database, request, {
    redact: () => Buffer.alloc(0),
    tombstones,
    claimMs: claimMs.webhooks,
  })
  const messages = await eraseIn(notifications, request, {
    redact: redactNotification,
    tombstones,
    claimMs: claimMs.notifications,
  })
  await deleteMessages(messages.eventIds)
  const unplaced = [webhooks, messages].flatMap(({ unplacedAt }) => unplacedAt ?? [])
  return {
    webhookEvents: webhooks.events,
    notificationEvents: messages.events,
    cancelledDeliveries: webhooks.cancelled + messages.cancelled,
    attempts: webhooks.attempts + messages.attempts,
    messages: [...webhooks.streamMessages, ...messages.streamMessages],
    missingEventIds: tombstone ? [] : missing,
    attemptsInFlight: webhooks.inFlight || messages.inFlight,
    unplacedAt: unplaced.toSorted().at(-1),
  }
}
