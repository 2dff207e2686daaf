import { randomBytes } from 'node:crypto'
import { type Sealer, ServiceError } from '@leadwire/service-kit'

const MIN_BYTES = 16
const MAX_LENGTH = 255

/** A new secret as the Standard Webhooks specification writes them: 24 random bytes in base64 after `whsec_`. */
export const newSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

export const secretViolation = (secret: string): string | undefined => {
  if (Buffer.byteLength(secret) < MIN_BYTES) return `must have ${MIN_BYTES} bytes or more`
  if ([...secret].length > MAX_LENGTH) return `must not be longer than ${MAX_LENGTH} characters`
  return /\p{Cc}/u.test(secret) ? 'must not contain control characters' : undefined
}

/** An endpoint's secret, those that were replaced and still sign, oldest first, and the values of its own headers. */
export interface Secrets {
  secret: string
  /** Each signs until an instant (ISO 8601 in UTC, milliseconds). */
  oldSecrets: { secret: string; until: string }[]
  headers?: Record<string, string>
}

/** The encrypted secrets of a row; null for a mailbox, which has none. */
export interface SealedSecrets {
  accountId: number
  sealedSecrets: Buffer | null
}

/** SQL: the sealed secrets of the row of endpoints that `alias` names. */
export const sealedSecretsOf = (alias: string) =>
  `${alias}.account_id AS "accountId", ${alias}.sealed_secrets AS "sealedSecrets"`

// Of the account, not of the endpoint: an endpoint has no id before its row is inserted.
const contextOf = (accountId: number) => `webhook-secrets:${accountId}`

/** Throws internal for secrets that no key opens, and for an endpoint that has none. */
export const openSecrets = (sealer: Sealer, { accountId, sealedSecrets }: SealedSecrets): Secrets => {
  if (!sealedSecrets) throw ServiceError.internal(new Error('an endpoint has no secret'))
  return JSON.parse(sealer.open(sealedSecrets, contextOf(accountId)).toString())
}

/** When the last of the replaced secrets ends; undefined when none signs any more. */
export const lastEnd = (sealer: Sealer, row: SealedSecrets, now: Date): Date | undefined => {
  const last = Math.max(...openSecrets(sealer, row).oldSecrets.map(({ until }) => Date.parse(until)))
  return last > now.getTime() ? new Date(last) : undefined
}

export const sealSecrets = (sealer: Sealer, accountId: number, secrets: Secrets) => ({
  sealed: sealer.seal(JSON.stringify(secrets), contextOf(accountId)),
  endsAt: secrets.oldSecrets.map(({ until }) => until).sort()[0] ?? null,
})
