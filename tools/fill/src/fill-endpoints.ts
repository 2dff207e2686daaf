import { randomBytes } from 'node:crypto'
import { createSealer } from '@leadwire/service-kit/runtime'
import type { Sql } from './sql'

/**
 * Creates `count` endpoints in an account, at `url?1`, `url?2` …, all with the same new secret. Encrypts the
 * secret with the first key of `encryptionKeys` (ENCRYPTION_KEYS of the stack). Returns the ids in the order
 * of the URLs.
 */
export const fillEndpoints = async (
  webhooks: Sql,
  {
    accountId,
    count,
    url,
    encryptionKeys,
  }: { accountId: number; count: number; url: string; encryptionKeys: string },
): Promise<{ ids: number[]; secret: string }> => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const sealer = createSealer(encryptionKeys.split(',').map((key) => Buffer.from(key, 'base64')))
  // This is the format of webhook-service (endpoints/secrets/sealed-secrets.ts).
  const sealed = sealer.seal(JSON.stringify({ secret, oldSecrets: [] }), `webhook-secrets:${accountId}`)
  const rows = await webhooks.rows<{ id: number }>(
    `INSERT INTO endpoints (account_id, url, enabled, sealed_secrets)
     SELECT $1, $2 || '?' || n, true, $3 FROM generate_series(1, $4::int) AS n ORDER BY n RETURNING id`,
    [accountId, url, sealed, count],
  )
  return { ids: rows.map(({ id }) => id), secret }
}
