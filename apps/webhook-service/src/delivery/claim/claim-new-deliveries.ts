import type { CreatedDelivery, FanOutEvent, LockedEndpoint } from '../fan-out/create-deliveries'
import type { Claim, ClaimedDelivery } from './claim-deliveries'
import type { DueEndpoint } from './due-endpoints'

/** The limits for a transaction that claims deliveries as it creates them. */
export interface ClaimLimits {
  claim: Claim
  /** How many deliveries may be claimed in total. */
  deliveries: number
  /** How many deliveries may be claimed at each endpoint. */
  perEndpoint: number
  /** Returns whether new deliveries of an endpoint may be claimed at all. */
  mayClaim: (endpointId: number) => boolean
}

/** An event that is being stored, with the columns that an attempt needs. */
interface NewEvent extends FanOutEvent {
  accountKey: string
  leadVersion: number | null
  traceparent: string | null
  body: Buffer
  bodyWithAttributes: Buffer | null
}

interface Planned {
  event: NewEvent
  endpoint: LockedEndpoint
  claim: number | null
}

/** Decides which new deliveries this process claims: the first deliveries that the limits allow. */
export const planClaims = (
  deliveries: Omit<Planned, 'claim'>[],
  { claim, deliveries: most, perEndpoint, mayClaim }: ClaimLimits,
): Planned[] => {
  const claimedCounts = new Map<number, number>()
  let left = most
  return deliveries.map(({ event, endpoint }) => {
    const { endpointId, enabled } = endpoint
    const claimed = claimedCounts.get(endpointId) ?? 0
    if (left <= 0 || claimed >= perEndpoint || !enabled || !mayClaim(endpointId))
      return { event, endpoint, claim: null }
    claimedCounts.set(endpointId, claimed + 1)
    left -= 1
    return { event, endpoint, claim: claim.number }
  })
}

/**
 * Describes created deliveries for the sender. Returns the claimed deliveries with everything that an attempt
 * needs, and the endpoints of the other pending deliveries.
 */
export const describeClaimed = (written: {
  deliveries: Planned[]
  created: CreatedDelivery[]
  /** The number of each event in its account's log. Null for a notification. */
  sequences: Map<string, number | null>
  now: Date
}): { claimed: ClaimedDelivery[]; due: DueEndpoint[] } => {
  const { deliveries, created, sequences, now } = written
  const at = now.getTime()
  const ids = new Map(created.map(({ id, eventId, endpointId }) => [`${eventId} ${endpointId}`, id]))
  const claimed: ClaimedDelivery[] = []
  const due: DueEndpoint[] = []
  for (const { event, endpoint, claim } of deliveries) {
    const { endpointId, accountId, enabled } = endpoint
    const id = ids.get(`${event.id} ${endpointId}`)!
    if (claim === null) {
      if (enabled) due.push({ endpointId, accountId, dueAt: at })
      continue
    }
    const withAttributes = endpoint.includesAttributes && event.bodyWithAttributes !== null
    const body = withAttributes ? event.bodyWithAttributes! : event.body
    claimed.push({
      id,
      claim,
      attemptCount: 0,
      scheduledAttempts: 0,
      manual: false,
      endpointId,
      accountId,
      url: endpoint.url,
      sealedSecrets: endpoint.sealedSecrets,
      eventId: event.id,
      eventType: event.type,
      accountKey: event.accountKey,
      sequence: sequences.get(event.id) ?? null,
      leadVersion: event.leadVersion,
      traceparent: event.traceparent,
      withAttributes,
      body,
      bodyBytes: body.length,
      dueAt: at,
      storedAt: at,
    })
  }
  return { claimed, due }
}
