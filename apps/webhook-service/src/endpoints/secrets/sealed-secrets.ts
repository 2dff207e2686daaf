import { randomBytes } from 'node:crypto'
import { type Sealer, ServiceError } from '@leadwire/service-kit'

/**
 * Generates a secret in the format of the Standard Webhooks specification: `whsec_` and 24 random bytes in
 * base64.
 */
export const newSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

/** The secret values of an endpoint. */
export interface Secrets {
  secret: string
  /**
   * The replaced secrets that still sign, oldest first, each with the time of its end (ISO 8601,
   * milliseconds).
   */
  oldSecrets: { secret: string; until: string }[]
  /** The values of the custom headers. */
  headers?: Record<string, string>
}

/** The encrypted secrets of a row. Null for the mailbox of an account, which has no secrets. */
export interface SealedSecrets {
  accountId: number
  sealedSecrets: Buffer | null
}

/** SQL: the columns of `SealedSecrets`. `alias` is the alias of the endpoint's row. */
export const selectSealedSecrets = (alias: string) =>
  `${alias}.account_id AS "accountId", ${alias}.sealed_secrets AS "sealedSecrets"`

// Binds the encrypted secrets to the account and not to the endpoint, because an endpoint has no id before
// its row is inserted.
const renderContext = (accountId: number) => `webhook-secrets:${accountId}`

/** Decrypts secrets. Throws `internal` if the endpoint has no secrets, or if no key decrypts them. */
export const openSecrets = (sealer: Sealer, { accountId, sealedSecrets }: SealedSecrets): Secrets => {
  if (!sealedSecrets) throw ServiceError.internal(new Error('an endpoint has no secret'))
  return JSON.parse(sealer.open(sealedSecrets, renderContext(accountId)).toString())
}

/** Returns when the last of the old secrets ends, or undefined if all of them have ended. */
export const findLastEnd = (sealer: Sealer, row: SealedSecrets, now: Date): Date | undefined => {
  const last = Math.max(...openSecrets(sealer, row).oldSecrets.map(({ until }) => Date.parse(until)))
  return last > now.getTime() ? new Date(last) : undefined
}

/**
 * Encrypts secrets. `endsAt` is when the first of the old secrets ends, or null if there is no old secret.
 */
export const sealSecrets = (sealer: Sealer, accountId: number, secrets: Secrets) => ({
  sealed: sealer.seal(JSON.stringify(secrets), renderContext(accountId)),
  endsAt: secrets.oldSecrets.map(({ until }) => until).sort()[0] ?? null,
})
