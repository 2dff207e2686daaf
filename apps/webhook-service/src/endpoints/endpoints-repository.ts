import type { Endpoint } from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'

interface EndpointRow {
  id: number
  url: string
  description: string | null
  enabled: boolean
  created_at: string
  updated_at: string
}

const COLUMNS = 'id, url, description, enabled, created_at, updated_at'

const endpointOf = (row: EndpointRow): Endpoint => ({
  id: row.id,
  url: row.url,
  description: row.description ?? undefined,
  enabled: row.enabled,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const oneOf = (rows: EndpointRow[]): Endpoint => {
  const [row] = rows
  if (!row) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  return endpointOf(row)
}

/** The account's endpoints that are not deleted, oldest first. */
export const selectEndpoints = async (tx: Transaction, accountId: number): Promise<Endpoint[]> => {
  const rows = await tx.query<EndpointRow>({
    name: 'list-webhook-endpoints',
    text: `SELECT ${COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`,
    values: [accountId],
  })
  return rows.map(endpointOf)
}

/** One endpoint of the account. Throws not_found. */
export const selectEndpoint = async (
  tx: Transaction,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<Endpoint> =>
  oneOf(
    await tx.query<EndpointRow>({
      name: 'retrieve-webhook-endpoint',
      text: `SELECT ${COLUMNS} FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`,
      values: [accountId, endpointId],
    }),
  )

/** Undefined when the account has `atMost` endpoints already. Its lock must be held: another insert would not be seen. */
export const insertEndpoint = async (
  tx: Transaction,
  atMost: number,
  endpoint: { accountId: number; url: string; description: string | null; enabled: boolean; secret: string },
): Promise<Endpoint | undefined> => {
  const [row] = await tx.query<EndpointRow>({
    name: 'create-webhook-endpoint',
    text: `INSERT INTO endpoints (account_id, url, description, enabled, secret)
           SELECT $1, $2, $3, $4, $5
           WHERE (SELECT count(*) FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL) < $6
           RETURNING ${COLUMNS}`,
    values: [
      endpoint.accountId,
      endpoint.url,
      endpoint.description,
      endpoint.enabled,
      endpoint.secret,
      atMost,
    ],
  })
  return row && endpointOf(row)
}

/** Sets what is given (the empty description clears it). Throws not_found. */
export const updateEndpointRow = async (
  tx: Transaction,
  change: {
    accountId: number
    endpointId: number
    url?: string | undefined
    description?: string | undefined
    enabled?: boolean | undefined
  },
): Promise<Endpoint> =>
  oneOf(
    await tx.query<EndpointRow>({
      name: 'update-webhook-endpoint',
      text: `UPDATE endpoints SET
               url = coalesce($3, url),
               description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END,
               enabled = coalesce($5, enabled),
               updated_at = clock_timestamp()
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${COLUMNS}`,
      values: [
        change.accountId,
        change.endpointId,
        change.url ?? null,
        change.description ?? null,
        change.enabled ?? null,
      ],
    }),
  )

/** Throws not_found. The row stays, for its deliveries. */
export const markEndpointDeleted = async (
  tx: Transaction,
  { accountId, endpointId }: { accountId: number; endpointId: number },
): Promise<void> =>
  void oneOf(
    await tx.query<EndpointRow>({
      name: 'delete-webhook-endpoint',
      text: `UPDATE endpoints SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
             WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${COLUMNS}`,
      values: [accountId, endpointId],
    }),
  )

/**
 * Moves an endpoint's open deliveries along with it: held while it is disabled, pending while it is enabled, cancelled
 * when it is deleted. The endpoint's row must have been updated before in the same transaction: its lock keeps a
 * fan-out that saw the old state from slipping in.
 */
export const moveDeliveries = async (
  tx: Transaction,
  { endpointId, from, to }: { endpointId: number; from: string[]; to: 'held' | 'pending' | 'cancelled' },
): Promise<void> =>
  void (await tx.query({
    name: 'move-deliveries',
    // In the order of ids, as every statement that locks many deliveries and waits does: so none waits in a circle.
    text: `WITH moving AS (
             SELECT id FROM deliveries
             WHERE endpoint_id = $1 AND status = ANY ($2) ORDER BY id FOR UPDATE
           )
           UPDATE deliveries d SET
             status = $3,
             next_attempt_at = CASE WHEN $3 = 'cancelled' THEN NULL ELSE next_attempt_at END,
             updated_at = clock_timestamp()
           FROM moving WHERE d.id = moving.id`,
    values: [endpointId, from, to],
  }))

/** Forgets the attempts that were asked for by hand and have not begun; what they were asked for stays as it was. */
export const dropAttemptsByHand = async (tx: Transaction, endpointId: number): Promise<void> =>
  void (await tx.query({
    name: 'drop-attempts-by-hand',
    text: `WITH waiting AS (
             SELECT id FROM deliveries
             WHERE endpoint_id = $1 AND by_hand_at IS NOT NULL AND claimed_by IS NULL ORDER BY id FOR UPDATE
           )
           UPDATE deliveries d SET by_hand_at = NULL, updated_at = clock_timestamp()
           FROM waiting WHERE d.id = waiting.id`,
    values: [endpointId],
  }))
