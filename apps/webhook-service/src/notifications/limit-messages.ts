import { NotificationRequested } from '@leadwire/contracts'
import { type Database, newEventId, type OpenTransaction, statement } from '@leadwire/service-kit'
import { type Clock, microseconds } from '../clock'
import { isSignIn } from '../delivery/append/read-event'
import type { ClaimedDelivery } from '../delivery/claim/claim-deliveries'
import type { Unmade } from '../delivery/record/record-attempts'
import { DIGEST, type DigestEntries } from './compose-message'
import { storeNotification } from './store-notification'

const HOUR_MS = 3_600_000
/**
 * How long after the end of the hour a digest is sent. By then, the last messages of the hour are recorded.
 */
const DIGEST_DELAY_MS = 5000
/** The maximum number of entries in a digest. */
const MAX_ENTRIES = 100

const findClaimed = statement<{ counted: boolean }>('find-claimed-notification')`
  SELECT counted FROM deliveries WHERE id = $1 AND claim = $2`

// The clocks of two processes may be in different hours for a moment. The later hour counts.
const countMessage = statement<{ messages: number; digestId: string | null }>('count-message')`
  INSERT INTO message_counts AS c (account_id, user_id, hour, messages) VALUES (:accountId, :userId, :hour, 1)
  ON CONFLICT (account_id, user_id) DO UPDATE SET
    hour = greatest(c.hour, excluded.hour),
    messages = CASE WHEN c.hour >= excluded.hour THEN c.messages + 1 ELSE 1 END,
    digest_id = CASE WHEN c.hour >= excluded.hour THEN c.digest_id END
  RETURNING messages, digest_id AS "digestId"`

const markCounted = statement('mark-as-counted')`
  UPDATE deliveries SET counted = true WHERE id = $1 AND claim = $2`

const setDigest = statement('set-digest')`
  UPDATE message_counts SET digest_id = :eventId WHERE account_id = :accountId AND user_id = :userId`

// A manual attempt changes neither the status nor the schedule.
const moveToDigest = statement('move-to-digest')`
  UPDATE deliveries SET
    status = CASE WHEN :manual::boolean THEN status ELSE 'cancelled' END,
    next_attempt_at = CASE WHEN :manual THEN next_attempt_at END,
    digest_id = coalesce(:digestId, digest_id),
    manual_at = NULL, claim = NULL, claimed_until = NULL, updated_at = clock_timestamp()
  WHERE id = :id AND claim = :claim`

const findEntries = statement<{ body: Buffer }>('find-digest-entries')`
  SELECT e.body FROM deliveries d JOIN events e ON e.id = d.event_id
  WHERE d.digest_id = $1 ORDER BY d.id LIMIT ${MAX_ENTRIES + 1}`

/** Returns the entries of a digest. `digestId` is the id of its event. */
export const listDigestEntries = async (database: Database, digestId: string): Promise<DigestEntries> => {
  const rows = await findEntries(database, digestId)
  const entries = rows.slice(0, MAX_ENTRIES).map(({ body }) => NotificationRequested.decode(body))
  return { entries, more: rows.length > MAX_ENTRIES }
}

/** Stores the digest of an hour for the user of a message. Resolves with the id of its event. */
const storeDigest = async (
  tx: OpenTransaction,
  { accountId, accountName, userId, userEmail, userName }: NotificationRequested,
  endsAt: Date,
): Promise<string> => {
  const eventId = newEventId()
  const dueAt = new Date(endsAt.getTime() + DIGEST_DELAY_MS)
  const digest = NotificationRequested.fromPartial({
    eventId,
    accountId,
    accountName,
    subject: DIGEST,
    requestedAt: microseconds(dueAt),
    userId,
    userEmail,
    userName,
  })
  await storeNotification(tx, digest, dueAt)
  setDigest.send(tx, { accountId, userId, eventId })
  return eventId
}

/**
 * Resolves with the id of the digest that lists a message, and stores the digest if it does not exist yet.
 * Resolves with null if the message is a digest itself.
 */
const findOrStoreDigest = async (
  tx: OpenTransaction,
  event: NotificationRequested,
  known: string | null,
  endsAt: Date,
): Promise<string | null> => {
  if (event.subject === DIGEST) return null
  return known ?? storeDigest(tx, event, endsAt)
}

/**
 * Creates a function that limits the messages to a user in an hour. A message beyond the limit is cancelled,
 * and listed in a digest that is sent after the end of the hour. A manual attempt counts as a further
 * message, so that manual attempts cannot exceed the limit. A digest counts only if it is sent by a manual
 * attempt. Sign-in links and invitations are not limited, because leads-service limits them. They would also
 * be useless in a digest, which contains no links.
 *
 * The transaction locks the row of `message_counts`, then the mailbox, then the delivery.
 */
export const limitMessages =
  ({ database, clock, mostPerHour }: { database: Database; clock: Clock; mostPerHour: number }) =>
  async ({ id, claim, body, manual }: ClaimedDelivery): Promise<Unmade | undefined> => {
    const event = NotificationRequested.decode(body)
    const { accountId, userId } = event
    // A message to the contact of an account has no user and is not limited.
    if (userId === 0 || isSignIn(event) || (event.subject === DIGEST && !manual)) return undefined
    const hour = Math.floor(clock.now().getTime() / HOUR_MS) * HOUR_MS
    const isAllowed = await database.transaction(async (tx) => {
      const [claimed] = await findClaimed(tx, id, claim)
      if (!claimed || (claimed.counted && !manual)) return true
      const [count] = await countMessage(tx, { accountId, userId, hour: new Date(hour) })
      if (count!.messages <= mostPerHour) {
        markCounted.send(tx, id, claim)
        return true
      }
      const digestId = await findOrStoreDigest(tx, event, count!.digestId, new Date(hour + HOUR_MS))
      moveToDigest.send(tx, { id, claim, digestId, manual })
      return false
    })
    return isAllowed ? undefined : { retryAt: null }
  }
