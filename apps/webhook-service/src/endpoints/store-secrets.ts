import { type Database, ServiceError, type Transaction } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import {
  openSecrets,
  type SecretSealer,
  type StoredSecrets,
  sealSecrets,
  storedSecrets,
} from './sealed-secrets'

/** Ids among which one transaction looks for endpoints; more would hold their locks for too long. */
const IDS_AT_ONCE = 1000

type Row = StoredSecrets & { id: number }

/** An endpoint's secrets, locked until the transaction ends. Throws not_found. */
export const lockSecrets = async (
  tx: Transaction,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<StoredSecrets> => {
  const [row] = await tx.query<StoredSecrets>({
    name: 'lock-endpoint-secrets',
    text: `SELECT ${storedSecrets('p')} FROM endpoints p
           WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE`,
    values: [accountId, endpointId],
  })
  if (!row) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  return row
}

// Encrypts with the first key what the rows have, without the secrets that have ended.
const encrypt = async (
  tx: Transaction,
  rows: Row[],
  { sealer, now }: { sealer: SecretSealer; now: Date },
) => {
  const columns = rows.map((row) => {
    const secrets = openSecrets(sealer, row)
    const signing = secrets.oldSecrets.filter(({ until }) => Date.parse(until) > now.getTime())
    return sealSecrets(sealer, row.accountId, { ...secrets, oldSecrets: signing })
  })
  await tx.query({
    name: 'save-secrets',
    text: `UPDATE endpoints p SET sealed_secrets = s.sealed, secrets_end_at = s.ends_at,
             secret = s.secret, old_secrets = s.old_secrets
           FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[], $4::text[], $5::jsonb[])
             AS s (id, sealed, ends_at, secret, old_secrets) WHERE p.id = s.id`,
    values: [
      rows.map(({ id }) => id),
      columns.map(([sealed]) => sealed),
      columns.map(([, endsAt]) => endsAt),
      columns.map(([, , secret]) => secret),
      columns.map(([, , , oldSecrets]) => oldSecrets),
    ],
  })
}

/**
 * Encrypts with the first key the secrets of all endpoints that are not yet: those that 0.2.0 wrote in plain text, and those
 * under a key that is to be replaced. While 0.2.0 may read them they stay in plain text beside. Throws internal for secrets that no key opens.
 */
export const encryptAllSecrets = async (
  database: Database,
  { sealer, clock }: { sealer: SecretSealer; clock: Clock },
): Promise<void> => {
  const [{ last } = { last: 0 }] = await database.query<{ last: number }>({
    text: 'SELECT coalesce(max(id), 0) AS last FROM endpoints',
  })
  for (let first = 1; first <= last; first += IDS_AT_ONCE)
    await database.transaction(async (tx) => {
      const rows = await tx.query<Row>({
        name: 'secrets-to-encrypt',
        text: `SELECT id, ${storedSecrets('p')} FROM endpoints p WHERE id >= $1 AND id < $2
                 AND ((secret IS NULL) = $5 OR substring(sealed_secrets FOR $3) <> $4)
               ORDER BY id FOR UPDATE`,
        values: [
          first,
          first + IDS_AT_ONCE,
          sealer.prefix.length,
          sealer.prefix,
          sealer.isShared?.() ?? false,
        ],
      })
      if (rows.length > 0) await encrypt(tx, rows, { sealer, now: clock.now() })
    })
}

/** Removes replaced secrets that have ended, of some endpoints. Resolves with whether there may be more. */
export const removeEndedSecrets = (
  database: Database,
  { sealer, clock }: { sealer: SecretSealer; clock: Clock },
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const now = clock.now()
    const rows = await tx.query<Row>({
      name: 'ended-secrets',
      text: `SELECT id, ${storedSecrets('p')} FROM endpoints p WHERE secrets_end_at <= $1
             ORDER BY secrets_end_at LIMIT ${IDS_AT_ONCE} FOR UPDATE SKIP LOCKED`,
      values: [now.toISOString()],
    })
    if (rows.length > 0) await encrypt(tx, rows, { sealer, now })
    return rows.length === IDS_AT_ONCE
  })
