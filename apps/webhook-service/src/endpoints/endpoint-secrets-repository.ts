import type { Endpoint } from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'
import type { OldSecret } from '../attempt/signing-secrets'
import { selectEndpoint } from './endpoints-repository'

interface Key {
  accountId: number
  endpointId: number
}

/** An endpoint's secrets, locked until the transaction ends. Throws not_found. */
export const selectSecrets = async (
  tx: Transaction,
  { accountId, endpointId }: Key,
): Promise<{ current: string; old: OldSecret[] }> => {
  const [row] = await tx.query<{ secret: string; old_secrets: OldSecret[] }>({
    name: 'select-endpoint-secrets',
    text: `SELECT secret, old_secrets FROM endpoints
           WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE`,
    values: [accountId, endpointId],
  })
  if (!row) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  return { current: row.secret, old: row.old_secrets }
}

export const replaceSecret = async (
  tx: Transaction,
  { secret, old, ...key }: Key & { secret: string; old: OldSecret[] },
): Promise<Endpoint> => {
  await tx.query({
    name: 'replace-endpoint-secret',
    text: `UPDATE endpoints SET secret = $2, old_secrets = $3, updated_at = clock_timestamp() WHERE id = $1`,
    values: [key.endpointId, secret, JSON.stringify(old)],
  })
  return selectEndpoint(tx, key)
}
