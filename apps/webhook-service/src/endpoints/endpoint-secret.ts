import { randomBytes } from 'node:crypto'

/** A new secret as the Standard Webhooks specification writes them: 24 random bytes in base64 after `whsec_`. */
export const newEndpointSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

/** What is wrong with a secret that a receiver chose; empty when it will do. */
export const endpointSecretFaults = (secret: string): string[] => {
  const { length } = [...secret]
  if (length < 8 || length > 255) return ['must be 8 to 255 characters long']
  return /\p{Cc}/u.test(secret) ? ['must not contain control characters'] : []
}
