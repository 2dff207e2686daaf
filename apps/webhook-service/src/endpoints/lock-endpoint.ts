import type { Transaction } from '@leadwire/service-kit'
import { statement } from '../statement'

export interface LockedEndpoint {
  accountId: number
  enabled: boolean
  deleted: boolean
}

const lock = statement<LockedEndpoint>('lock-endpoint')`
  SELECT account_id AS "accountId", enabled, deleted_at IS NOT NULL AS deleted FROM endpoints WHERE id = $1 FOR SHARE`

/** The state of an endpoint, which stays until the transaction ends. An endpoint that never existed counts as deleted. */
export const lockEndpoint = async (tx: Transaction, endpointId: number): Promise<LockedEndpoint> =>
  (await lock(tx, endpointId))[0] ?? { accountId: 0, enabled: false, deleted: true }
