import { randomBytes } from 'node:crypto'
import type { Faults } from '@leadwire/service-kit'

/** A new secret as the Standard Webhooks specification writes them: 24 random bytes in base64 after `whsec_`. */
export const newEndpointSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

const MIN_BYTES = 16
const MAX_LENGTH = 255

/** What is wrong with a secret that a receiver chose; empty when it will do. */
export const endpointSecretFaults = (secret: string): Faults => {
  if (Buffer.byteLength(secret) < MIN_BYTES) return { secret: [`must have ${MIN_BYTES} bytes or more`] }
  if ([...secret].length > MAX_LENGTH) return { secret: [`must not be longer than ${MAX_LENGTH} characters`] }
  return /\p{Cc}/u.test(secret) ? { secret: ['must not contain control characters'] } : {}
}
