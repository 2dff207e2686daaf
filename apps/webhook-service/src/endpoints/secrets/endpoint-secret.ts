import { randomBytes } from 'node:crypto'

const MIN_BYTES = 16
const MAX_LENGTH = 255

/** A new secret as the Standard Webhooks specification writes them: 24 random bytes in base64 after `whsec_`. */
export const newSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

/** Why a receiver can't choose this secret. */
export const secretViolation = (secret: string): string | undefined => {
  if (Buffer.byteLength(secret) < MIN_BYTES) return `must have ${MIN_BYTES} bytes or more`
  if ([...secret].length > MAX_LENGTH) return `must not be longer than ${MAX_LENGTH} characters`
  return /\p{Cc}/u.test(secret) ? 'must not contain control characters' : undefined
}
