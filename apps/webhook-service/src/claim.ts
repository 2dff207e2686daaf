import { randomInt } from 'node:crypto'
import type { Webhook } from './attempt/webhook-headers'

/**
 * The right to attempt deliveries until a time of the database's clock. Who dies with it leaves them to others at that time.
 * Its number fences results: one under another number comes too late and changes nothing.
 */
export interface Claim {
  number: number
  validMs: number
}

/** Drawn at random: a database that crashes may give the id of a delivery that it forgot to another. */
export const newClaim = (validMs: number): Claim => ({ number: randomInt(2 ** 31), validMs })

/** SQL: nobody has a valid claim on the delivery. */
export const UNCLAIMED = '(claimed_until IS NULL OR claimed_until <= now())'

/** A delivery that this process may attempt, with all that the attempt needs, as it was when it was claimed. */
export interface ClaimedDelivery extends Webhook {
  id: number
  /** The body's length; a large one is not there yet. */
  bodyBytes: number
  /** The number of the claim. */
  claim: number
  /** Attempts made before, of both kinds. */
  attemptCount: number
  /** Those of them that the schedule made. */
  scheduledAttempts: number
  /** Whether somebody asked for this attempt; it is none of the schedule's then. */
  byHand: boolean
  /** ISO timestamps. */
  dueAt: string
  storedAt: string
  endpointId: number
}
