import { type Sealer, ServiceError } from '@leadwire/service-kit'

/** A secret that was replaced and signs until an instant (ISO 8601 in UTC, milliseconds). */
export interface OldSecret {
  secret: string
  until: string
}

/** The secrets of an endpoint, and those that were replaced and still sign, oldest first; its own headers, whose values are secrets too. */
export interface Secrets {
  secret: string
  oldSecrets: OldSecret[]
  headers?: Record<string, string>
}

/** Secrets as a row has them: encrypted, or in plain text where a release before encryption wrote the row. */
export interface StoredSecrets {
  accountId: number
  sealedSecrets: Buffer | null
  secret: string | null
  oldSecrets: OldSecret[]
}

/** `isShared`: copies of 0.2.0 may run, or come back, which read secrets in plain text alone. */
export type SecretSealer = Sealer & { isShared?: () => boolean }

/** SQL: the stored secrets of the row of endpoints that `alias` names. */
export const storedSecrets = (alias: string) =>
  ['account_id AS "accountId"', 'sealed_secrets AS "sealedSecrets"', 'secret', 'old_secrets AS "oldSecrets"']
    .map((column) => `${alias}.${column}`)
    .join(', ')

// Of the account, not of the endpoint: an endpoint has no id before its row is inserted.
const contextOf = (accountId: number) => `webhook-secrets:${accountId}`

/**
 * What stands in plain text is what counts: 0.2.0 may have changed it, which leaves the encrypted value as it was. Throws internal for
 * secrets that the keys at hand don't open, and for an endpoint that has none.
 */
export const openSecrets = (sealer: Sealer, stored: StoredSecrets): Secrets => {
  const { accountId, sealedSecrets, secret, oldSecrets } = stored
  const sealed = sealedSecrets && JSON.parse(sealer.open(sealedSecrets, contextOf(accountId)).toString())
  if (secret !== null) return { ...sealed, secret, oldSecrets }
  if (!sealed) throw ServiceError.internal(new Error('an endpoint has no secret'))
  return sealed
}

/**
 * The values of the columns sealed_secrets, secrets_end_at, secret and old_secrets: the secrets, encrypted, when the first of the old
 * ones ends, and what 0.2.0 reads, where it may.
 */
export const sealSecrets = (
  sealer: SecretSealer,
  accountId: number,
  secrets: Secrets,
): [sealed: Buffer, endsAt: string | null, secret: string | null, oldSecrets: string] => {
  const ends = secrets.oldSecrets.map(({ until }) => until).sort()
  const sealed = sealer.seal(JSON.stringify(secrets), contextOf(accountId))
  const plain = sealer.isShared?.() ? secrets : { secret: null, oldSecrets: [] }
  return [sealed, ends[0] ?? null, plain.secret, JSON.stringify(plain.oldSecrets)]
}
