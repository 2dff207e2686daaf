import { Endpoint, filterRecord } from '@leadwire/contracts'
import { ServiceError, statement, type Transaction, theRow } from '@leadwire/service-kit'
import { microseconds } from '../clock'
import type { Dependencies } from '../operation'
import { parseFilterColumn } from './filter'
import { findLastEnd, type SealedSecrets } from './secrets/sealed-secrets'

export const ENDPOINT_COLUMNS = `id, url, description, enabled, events, leads, filter, include, header_names AS "headerNames",
  disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt",
  account_id AS "accountId", CASE WHEN secrets_end_at IS NOT NULL THEN sealed_secrets END AS "sealedSecrets"`

type Row = SealedSecrets & { filter?: ReturnType<typeof filterRecord> }

type ReadOptions = Pick<Dependencies, 'sealer' | 'clock'>

/** Converts a row with `ENDPOINT_COLUMNS` to a message. NULL becomes undefined. */
export const readEndpoint = ({ sealer, clock }: ReadOptions, row: Row): Endpoint => {
  const end = row.sealedSecrets === null ? undefined : findLastEnd(sealer, row, clock.now())
  return Endpoint.fromPartial({
    ...row,
    filter: parseFilterColumn(row.filter),
    ...(end && { previousSecretUntil: microseconds(end) }),
  })
}

/** Returns the fields of an endpoint that the audit log shows. */
export const describeForAudit = (endpoint: Endpoint) => {
  const { url, description, enabled, events, leads, filter, include, headerNames } = endpoint
  return {
    url,
    description,
    enabled,
    events,
    leads,
    filter: filterRecord(filter),
    ...(include.length > 0 && { include }),
    ...(headerNames.length > 0 && { headers: headerNames }),
  }
}

/** Converts the only row of a statement to a message. Throws `not_found` if there is no row. */
export const requireEndpoint = (options: ReadOptions, rows: SealedSecrets[]): Endpoint =>
  readEndpoint(options, theRow(rows, 'webhook endpoint'))

export interface LockedEndpoint {
  accountId: number
  enabled: boolean
  deleted: boolean
}

const lock = statement<LockedEndpoint>('lock-endpoint')`
  SELECT account_id AS "accountId", enabled, deleted_at IS NOT NULL AS deleted FROM endpoints
  WHERE id = $1 FOR SHARE`

/**
 * Locks an endpoint against changes until the transaction ends, and returns its state. An endpoint that does
 * not exist counts as deleted.
 */
export const lockEndpoint = async (tx: Transaction, endpointId: number): Promise<LockedEndpoint> => {
  const [endpoint] = await lock(tx, endpointId)
  return endpoint ?? { accountId: 0, enabled: false, deleted: true }
}

/**
 * Locks an enabled endpoint of an account against changes. Throws `not_found`. Throws `conflict` if the
 * endpoint is disabled.
 */
export const lockReceiving = async (
  tx: Transaction,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<void> => {
  const endpoint = await lockEndpoint(tx, endpointId)
  if (endpoint.deleted || endpoint.accountId !== accountId)
    throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  if (!endpoint.enabled) throw new ServiceError('conflict', 'The endpoint is disabled. Enable it first.')
}
