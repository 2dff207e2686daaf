import { type EraseLeadEventsRequest, isUuid, NotificationRequested } from '@leadwire/contracts'
import { type Database, type OpenTransaction, statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import { findStoredEvents } from '../ingest/find-stored-events'
import type { Operation } from '../operation'
import { eventsOfLeads, lockDeliveries, messagesOf } from './remove-events'

/** Events that one transaction erases; each has a delivery for each endpoint. */
const BATCH = 20

// The event of the erasure itself stays.
const nextEvents = statement<{ id: string; body: Buffer }>('events-to-erase')`
  SELECT id, body FROM events
  WHERE lead_reference = $2 AND account_id = $1 AND erased_at IS NULL AND type <> 'lead.erased'
  ORDER BY id LIMIT ${BATCH} FOR UPDATE`

const eraseEvents = statement('erase-events')`
  UPDATE events SET body = e.body, body_with_attributes = NULL, match = NULL, traceparent = NULL, erased_at = clock_timestamp()
  FROM unnest($1::uuid[], $2::bytea[]) AS e (id, body) WHERE events.id = e.id`

// Exhausted deliveries too: they could be attempted again. An attempt in flight loses its claim to a number that no process has, so that
// its response is not recorded, and its end is known.
const cancelDeliveries = statement('cancel-deliveries-of-events')`
  UPDATE deliveries SET
    status = CASE WHEN status = 'delivered' THEN status ELSE 'cancelled' END,
    next_attempt_at = NULL, manual_at = NULL, updated_at = clock_timestamp(),
    claim = CASE WHEN claimed_until > now() THEN -1 END,
    claimed_until = CASE WHEN claimed_until > now() THEN claimed_until END
  WHERE event_id = ANY ($1::uuid[])`

const eraseResponses = statement('erase-responses')`
  UPDATE attempts SET response = NULL
  WHERE delivery_id = ANY (ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]))) AND response IS NOT NULL`

const insertTombstones = statement('insert-tombstones')`
  INSERT INTO events (id, account_id, account_key, lead_reference, body, erased_at)
  SELECT id, $1, '', $2, '', clock_timestamp() FROM unnest($3::uuid[]) AS id ORDER BY id
  ON CONFLICT (id) DO NOTHING`

interface Counts {
  events: number
  cancelled: number
  attempts: number
  inFlight: boolean
  unplacedAt: string | null
}

// By way of the events, which have the index.
const count = statement<Counts>('count-erased')`
  WITH of_lead AS MATERIALIZED (
    SELECT id, stream_sequence, created_at, sample FROM events
    WHERE lead_reference = $2 AND account_id = $1 AND erased_at IS NOT NULL
  )
  SELECT (SELECT count(*)::int FROM of_lead) AS events, count(*) FILTER (WHERE d.status = 'cancelled')::int AS cancelled,
    coalesce(sum(d.attempt_count), 0)::int AS attempts,
    coalesce(bool_or(d.claimed_until > clock_timestamp()), false) AS "inFlight",
    (SELECT max(created_at) FROM of_lead WHERE stream_sequence IS NULL AND NOT sample) AS "unplacedAt"
  FROM deliveries d WHERE d.event_id = ANY (ARRAY (SELECT id FROM of_lead))`

// Which user was notified of what and when stays: the user is none of the lead's persons.
const redactNotification = (body: Buffer): Buffer => {
  const { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt } =
    NotificationRequested.decode(body)
  const kept = { eventId, accountId, leadReference, subject, userId, userEmail, date, requestedAt }
  return Buffer.from(NotificationRequested.encode(NotificationRequested.fromPartial(kept)).finish())
}

const eraseIn = async (
  database: Database,
  { accountId, leadReference }: EraseLeadEventsRequest,
  { redact, tombstones }: { redact: (body: Buffer) => Buffer; tombstones: string[] },
) => {
  const lead = [accountId, leadReference]
  if (tombstones.length > 0) await insertTombstones(database, ...lead, tombstones)
  const eraseBatch = async (tx: OpenTransaction): Promise<number> => {
    const events = await nextEvents(tx, ...lead)
    const ids = events.map(({ id }) => id)
    const bodies = events.map(({ body }) => redact(body))
    eraseEvents.send(tx, ids, bodies)
    lockDeliveries.send(tx, ids)
    cancelDeliveries.send(tx, ids)
    eraseResponses.send(tx, ids)
    return ids.length
  }
  while ((await database.transaction(eraseBatch)) === BATCH);
  const [counts] = await count(database, ...lead)
  return { ...counts!, stored: await eventsOfLeads(database, accountId, [leadReference]) }
}

/**
 * Erases the bodies of a lead's events, the responses to them and messages in a folder, and cancels what is still to be sent. With `tombstone`
 * each of `eventIds` that is not stored becomes a tombstone. May be repeated; answers with all that is erased by now. Throws invalid.
 */
export const eraseLeadEvents: Operation<'eraseLeadEvents'> = async (dependencies, request) => {
  const { database, notifications, deleteMessages } = dependencies
  const { leadReference, eventIds, tombstone } = request
  validate({
    lead_reference: [leadReference, ...eventIds].every(isUuid) || 'must be a UUID, and so must events',
  })
  const { eventIds: stored } = await findStoredEvents(dependencies, { eventIds })
  const missing = eventIds.filter((id) => !stored.includes(id))
  const tombstones = tombstone ? missing : []
  const webhooks = await eraseIn(database, request, { redact: () => Buffer.alloc(0), tombstones })
  const messages = await eraseIn(notifications, request, { redact: redactNotification, tombstones })
  await deleteMessages(messages.stored.map(({ eventId }) => eventId))
  const unplaced = [webhooks, messages].flatMap(({ unplacedAt }) => unplacedAt ?? [])
  return {
    webhookEvents: webhooks.events,
    notificationEvents: messages.events,
    cancelledDeliveries: webhooks.cancelled + messages.cancelled,
    attempts: webhooks.attempts + messages.attempts,
    messages: messagesOf([...webhooks.stored, ...messages.stored]),
    missingEventIds: tombstone ? [] : missing,
    attemptsInFlight: webhooks.inFlight || messages.inFlight,
    unplacedAt: unplaced.toSorted().at(-1),
  }
}
