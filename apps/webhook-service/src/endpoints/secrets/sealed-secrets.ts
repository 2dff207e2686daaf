import { type Sealer, ServiceError } from '@leadwire/service-kit'

/** A secret that was replaced and signs until an instant (ISO 8601 in UTC, milliseconds). */
export interface OldSecret {
  secret: string
  until: string
}

/** An endpoint's secret, those that were replaced and still sign, oldest first, and the values of its own headers. */
export interface Secrets {
  secret: string
  oldSecrets: OldSecret[]
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

/** The encrypted secrets, and when the first of the old ones ends. */
export const sealSecrets = (
  sealer: Sealer,
  accountId: number,
  secrets: Secrets,
): { sealed: Buffer; endsAt: string | null } => ({
  sealed: sealer.seal(JSON.stringify(secrets), contextOf(accountId)),
  endsAt: secrets.oldSecrets.map(({ until }) => until).sort()[0] ?? null,
})
