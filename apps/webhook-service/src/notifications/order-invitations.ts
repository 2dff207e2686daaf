import { NotificationRequested } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import type { ClaimedDelivery } from '../delivery/claim/claim-deliveries'
import type { Unmade } from '../delivery/record/record-attempts'
import { isUnclaimed } from '../delivery-sql'
import { isInvitation } from './compose-message'

/** How long a message waits for an earlier message that is in flight before it checks again. */
const WAIT_MS = 1000

// Finds the messages by the index on the lead. The id of an invitation is the id of the event of its first
// message. The bodies of all later messages contain this id.
const findOthers = statement<{ body: Buffer; claimed: boolean }>('messages-of-invitation')`
  SELECT body,
    EXISTS (SELECT FROM deliveries WHERE event_id = e.id AND NOT ${isUnclaimed(':claimMs::int')}) AS claimed
  FROM events e
  WHERE lead_reference = :leadReference AND account_id = :accountId AND id <> :eventId AND erased_at IS NULL
    AND position(:invitationId::bytea IN body) > 0`

const cancel = statement('cancel-overtaken')`
  UPDATE deliveries SET status = CASE WHEN status = 'delivered' THEN status ELSE 'cancelled' END,
    next_attempt_at = NULL, manual_at = NULL, claim = NULL, claimed_until = NULL, updated_at = clock_timestamp()
  WHERE id = $1 AND claim = $2`

// Shortens the claim instead of releasing it, so that no process claims the delivery before the wait is over.
const shortenClaim = statement('wait-for-earlier-message')`
  UPDATE deliveries SET claimed_until = clock_timestamp() + ${WAIT_MS} * interval '1 ms'
  WHERE id = $1 AND claim = $2`

/**
 * Computes the position of a message among the messages of its invitation. Positions are compared as strings.
 * A position ends with the id of the event, so all positions differ. Two messages with the same position
 * would wait for each other.
 */
const computePosition = ({ sequence, requestedAt, eventId }: NotificationRequested): string =>
  `${String(sequence).padStart(10, '0')} ${requestedAt} ${eventId}`

const getInvitationId = ({ invitationId, eventId }: NotificationRequested) => invitationId ?? eventId

/**
 * Creates the function that keeps the messages of an invitation to one user in order, so that the user's last
 * message shows the current state. The function runs before each attempt of a message. If a later message is
 * stored, the function cancels the message. If an earlier message is in flight, the message waits. If two
 * messages start at the same time, either the earlier message finds the later message, or the later message
 * finds that the earlier message is claimed.
 */
export const orderInvitations =
  ({ database, clock, claimMs }: { database: Database; clock: Clock; claimMs: number }) =>
  async ({ id, claim, eventId, body }: ClaimedDelivery): Promise<Unmade | undefined> => {
    const event = NotificationRequested.decode(body)
    if (!isInvitation(event)) return undefined
    const { leadReference, accountId } = event
    const invitationId = getInvitationId(event)
    const found = await findOthers(database, {
      leadReference,
      accountId,
      eventId,
      invitationId: Buffer.from(invitationId),
      claimMs,
    })
    const others = found
      .map((row) => ({ ...row, event: NotificationRequested.decode(row.body) }))
      .filter((other) => other.event.userId === event.userId && getInvitationId(other.event) === invitationId)
    if (others.some((other) => computePosition(other.event) > computePosition(event))) {
      await cancel(database, id, claim)
      return { retryAt: null }
    }
    if (!others.some(({ claimed }) => claimed)) return undefined
    await shortenClaim(database, id, claim)
    return { retryAt: new Date(clock.now().getTime() + WAIT_MS) }
  }
