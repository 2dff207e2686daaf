import type { Transaction } from '@leadwire/service-kit'

export interface LockedEndpoint {
  accountId: number
  enabled: boolean
  deleted: boolean
}

/** How an endpoint is, and stays until the transaction ends. One that was never there counts as deleted. */
export const lockEndpoint = async (tx: Transaction, endpointId: number): Promise<LockedEndpoint> => {
  const [row] = await tx.query<{ account_id: number; enabled: boolean; deleted: boolean }>({
    name: 'lock-endpoint',
    text: `SELECT account_id, enabled, deleted_at IS NOT NULL AS deleted FROM endpoints WHERE id = $1 FOR SHARE`,
    values: [endpointId],
  })
  return { accountId: row?.account_id ?? 0, enabled: row?.enabled ?? false, deleted: row?.deleted ?? true }
}
