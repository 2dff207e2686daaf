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

/** SQL: the stored secrets of the row of endpoints that `alias` names. */
export const storedSecrets = (alias: string) =>
  ['account_id AS "accountId"', 'sealed_secrets AS "sealedSecrets"', 'secret', 'old_secrets AS "oldSecrets"']
    .map((column) => `${alias}.${column}`)
    .join(', ')

// Of the account, not of the endpoint: an endpoint has no id before its row is inserted.
const contextOf = (accountId: number) => `webhook-secrets:${accountId}`

/** Throws internal for secrets that the keys at hand don't open, and for an endpoint that has none. */
export const openSecrets = (sealer: Sealer, stored: StoredSecrets): Secrets => {
  const { accountId, sealedSecrets, secret, oldSecrets } = stored
  if (sealedSecrets) return JSON.parse(sealer.open(sealedSecrets, contextOf(accountId)).toString())
  if (secret === null) throw ServiceError.internal(new Error('an endpoint has no secret'))
  return { secret, oldSecrets }
}

/** The values of the columns sealed_secrets and secrets_end_at: the secrets, encrypted, and when the first of the old ones ends. */
export const sealSecrets = (sealer: Sealer, accountId: number, secrets: Secrets): [Buffer, string | null] => {
  const ends = secrets.oldSecrets.map(({ until }) => until).sort()
  return [sealer.seal(JSON.stringify(secrets), contextOf(accountId)), ends[0] ?? null]
}
