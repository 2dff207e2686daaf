import { NotificationRequested } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { UNCLAIMED } from '../delivery-sql'
import type { ClaimedDelivery } from '../queue/claim-deliveries'
import type { Unmade } from '../queue/record-attempts'

/** How long a message waits while an earlier one is in flight, before the next check. */
const WAIT_MS = 1000

// Uses the index on the lead. An invitation has the id of its first message's event; the later messages carry that id.
const findOthers = statement<{ body: Buffer; claimed: boolean }>('messages-of-invitation')`
  SELECT body, EXISTS (SELECT FROM deliveries WHERE event_id = e.id AND NOT ${UNCLAIMED}) AS claimed
  FROM events e WHERE lead_reference = $1 AND account_id = $2 AND id <> $3 AND erased_at IS NULL AND position($4::bytea IN body) > 0`

const cancel = statement('cancel-overtaken')`
  UPDATE deliveries SET status = CASE WHEN status = 'delivered' THEN status ELSE 'cancelled' END,
    next_attempt_at = NULL, manual_at = NULL, claim = NULL, claimed_until = NULL, updated_at = clock_timestamp()
  WHERE id = $1 AND claim = $2`

// No process claims it before the claim ends.
const shortenClaim = statement('wait-for-earlier-message')`
  UPDATE deliveries SET claimed_until = clock_timestamp() + $3::int * interval '1 ms' WHERE id = $1 AND claim = $2`

/** Compares as a text. By the event's id at last, so that no two messages wait for each other. */
const placeOf = ({ sequence, requestedAt, eventId }: NotificationRequested): string =>
  `${String(sequence).padStart(10, '0')} ${requestedAt} ${eventId}`

const invitationOf = ({ invitationId, eventId }: NotificationRequested) => invitationId ?? eventId

/**
 * Makes the function that keeps the messages of an invitation to one user in order, so that the last one has the last state. An attempt
 * is not made when a later message is stored: it is cancelled. It waits while an earlier one is in flight. Of two that start at once
 * the earlier one sees the later, or the later one its claim.
 */
export const orderInvitations =
  (database: Database, clock: Clock) =>
  async ({ id, claim, eventId, body }: ClaimedDelivery): Promise<Unmade | undefined> => {
    const event = NotificationRequested.decode(body)
    const { leadReference, accountId, date } = event
    // Only appointments and callbacks have a date.
    if (date === undefined) return undefined
    const invitation = invitationOf(event)
    const found = await findOthers(database, leadReference, accountId, eventId, Buffer.from(invitation))
    const others = found
      .map((row) => ({ ...row, event: NotificationRequested.decode(row.body) }))
      .filter((other) => other.event.userId === event.userId && invitationOf(other.event) === invitation)
    if (others.some((other) => placeOf(other.event) > placeOf(event))) {
      await cancel(database, id, claim)
      return { retryAt: null }
    }
    if (!others.some(({ claimed }) => claimed)) return undefined
    await shortenClaim(database, id, claim, WAIT_MS)
    return { retryAt: new Date(clock.now().getTime() + WAIT_MS) }
  }
