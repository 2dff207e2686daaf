/*
 * The encrypted links of notifications with which users sign in (the table `sign_in_links`). The body of an
 * event does not contain its link, because events are kept for weeks, and a link must not be kept after its
 * delivery.
 *
 * The life of a link:
 *
 * - stored: before its event is appended, so that an attempt of the event always finds the link.
 * - read: by each attempt. An attempt that finds no link fails and is not repeated.
 * - deleted: within seconds after the delivery of the event has ended, with its event if the event is
 *   removed, or at the latest after `LONGEST_LIFE`.
 *
 * Invariants, all proved by `sign-in-links.spec.ts`:
 *
 * - A link exists while its event waits for the fan-out, or its delivery is pending or held or has a manual
 *   attempt.
 * - After the end of a delivery, its message may arrive again. It does not store the link again.
 * - No link is kept without an event for longer than `LONGEST_WITHOUT_EVENT`.
 */
import { signInLinkContext } from '@leadwire/contracts'
import { type Database, type Sealer, statement } from '@leadwire/service-kit'

/** How often links are deleted, in milliseconds. */
export const DELETE_LINKS_EVERY_MS = 5000
/** How many links one statement deletes. */
const BATCH = 1000
/** How long a link is kept while its event is not stored. Normally the event is stored at once. */
const LONGEST_WITHOUT_EVENT = '10 minutes'
/** How long a link is kept at most. Every link stops working earlier. */
const LONGEST_LIFE = '8 days'

// Stores no link for an event that is already stored, because its delivery may have ended. If the message
// arrives again before its event is stored, renews `created_at`. Otherwise `deleteLinks` could delete an old
// link just before its event is stored.
const insertLink = statement('store-sign-in-link')`
  INSERT INTO sign_in_links (event_id, sealed_link)
  SELECT :eventId::uuid, :sealedLink::bytea WHERE NOT EXISTS (SELECT FROM events WHERE id = :eventId)
  ON CONFLICT (event_id) DO UPDATE SET created_at = excluded.created_at`

const findLink = statement<{ sealedLink: Buffer }>('find-sign-in-link')`
  SELECT sealed_link AS "sealedLink" FROM sign_in_links WHERE event_id = $1`

/** SQL: whether the link `l` may still be sent. Its event must be stored. */
const IS_OPEN = `(
  EXISTS (SELECT FROM fan_out_queue q WHERE q.event_id = l.event_id)
  OR EXISTS (
    SELECT FROM deliveries d
    WHERE d.event_id = l.event_id AND (d.status IN ('pending', 'held') OR d.manual_at IS NOT NULL)
  )
)`

// Locks the links first, and skips links that another process locks, so that two processes cannot deadlock.
const deleteLinks = statement<{ eventId: string }>('delete-sign-in-links')`
  DELETE FROM sign_in_links WHERE event_id = ANY (ARRAY (
    SELECT event_id FROM sign_in_links l
    WHERE created_at < now() - interval '${LONGEST_LIFE}' OR CASE
      WHEN EXISTS (SELECT FROM events e WHERE e.id = l.event_id) THEN NOT ${IS_OPEN}
      ELSE created_at < now() - interval '${LONGEST_WITHOUT_EVENT}'
    END
    ORDER BY event_id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  ))
  RETURNING event_id AS "eventId"`

/** Stores the encrypted link of an event that has a link. Must be called before the event is appended. */
export const storeSignInLink = async (
  database: Database,
  { id: eventId, sealedLink }: { id: string; sealedLink?: Buffer },
): Promise<void> => {
  if (sealedLink) await insertLink(database, { eventId, sealedLink })
}

/**
 * Returns the link of an event, or undefined if the link was deleted. Throws `internal` if no key decrypts
 * the link.
 */
export const readSignInLink = async (
  { database, sealer }: { database: Database; sealer: Sealer },
  eventId: string,
): Promise<string | undefined> => {
  const [row] = await findLink(database, eventId)
  return row && sealer.open(row.sealedLink, signInLinkContext(eventId)).toString()
}

/**
 * Deletes a batch of links whose deliveries have ended, and of links that are too old. Resolves with whether
 * there may be more.
 */
export const deleteEndedLinks = async (database: Database): Promise<boolean> => {
  const deleted = await deleteLinks(database)
  return deleted.length === BATCH
}
