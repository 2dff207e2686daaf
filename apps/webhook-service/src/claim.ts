import { randomInt } from 'node:crypto'

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
