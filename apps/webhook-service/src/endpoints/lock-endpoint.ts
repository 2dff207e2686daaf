import type { Transaction } from '@leadwire/service-kit'

export interface LockedEndpoint {
  accountId: number
  enabled: boolean
  deleted: boolean
}

/** How an endpoint is, and stays until the transaction ends. One that was never there counts as deleted. */
export const lockEndpoint = async (tx: Transaction, endpointId: number): Promise<LockedEndpoint> => {
  const [endpoint] = await tx.query<LockedEndpoint>({
    name: 'lock-endpoint',
    text: `SELECT account_id AS "accountId", enabled, deleted_at IS NOT NULL AS deleted
           FROM endpoints WHERE id = $1 FOR SHARE`,
    values: [endpointId],
  })
  return endpoint ?? { accountId: 0, enabled: false, deleted: true }
}
