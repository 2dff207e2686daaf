import { randomInt } from 'node:crypto'
import type { Webhook } from '../attempt/webhook-headers'

/**
 * The right to attempt deliveries until a time of the database's clock. When its process dies, others attempt them after that time.
 * Its number fences results: a result under another number comes too late and changes nothing.
 */
export interface Claim {
  number: number
  validMs: number
}

/** Random: a database that crashed may give a delivery the id of one that it lost. */
export const newClaim = (validMs: number): Claim => ({ number: randomInt(2 ** 31), validMs })

/** A delivery that this process may attempt, with everything the attempt needs, as of its claim. */
export interface ClaimedDelivery extends Webhook {
  id: number
  /** The length of the body; a large body is read later. */
  bodyBytes: number
  /** The number of the claim. */
  claim: number
  /** Attempts made before, scheduled and manual. */
  attemptCount: number
  scheduledAttempts: number
  /** Whether the attempt is a manual one, outside the schedule. */
  manual: boolean
  /** ISO timestamps. */
  dueAt: string
  storedAt: string
  endpointId: number
}

/** An endpoint with a delivery that is due. */
export interface DueEndpoint {
  endpointId: number
  accountId: number
  /** When its first delivery is due, in milliseconds since 1970. */
  dueAt: number
}
