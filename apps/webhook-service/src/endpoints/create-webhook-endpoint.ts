import type { CreateWebhookEndpointRequest, CreateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'
import { endpointSecretFaults, newEndpointSecret } from './endpoint-secret'
import { endpointUrlFaults } from './endpoint-url'

/** Any constant: it tells these locks from others in the same database. */
const ACCOUNT_LOCKS = 1_280_791_892

/**
 * Registers an address for the account's webhooks; makes the secret unless one is given. Throws invalid, also when the
 * account has as many endpoints as it may.
 */
export const createWebhookEndpoint = async (
  { database, endpointsPerAccount }: { database: Database; endpointsPerAccount: number },
  request: CreateWebhookEndpointRequest,
): Promise<CreateWebhookEndpointResponse> => {
  const { accountId, url, description, enabled, secret = newEndpointSecret() } = request
  const faults = { ...endpointUrlFaults(url), ...endpointSecretFaults(secret) }
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  const [row] = await database.transaction((tx) => {
    // Whoever makes endpoints of an account does so one after the other, so that the count of one holds for the other.
    tx.send({
      name: 'lock-account',
      text: 'SELECT pg_advisory_xact_lock($1, ($2::bigint % 2147483647)::int)',
      values: [ACCOUNT_LOCKS, accountId],
    })
    return tx.query<object>({
      name: 'create-webhook-endpoint',
      text: `INSERT INTO endpoints (account_id, url, description, enabled, secret)
             SELECT $1, $2, $3, $4, $5
             WHERE (SELECT count(*) FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL) < $6
             RETURNING ${ENDPOINT_COLUMNS}`,
      values: [accountId, url, description || null, enabled, secret, endpointsPerAccount],
    })
  })
  if (!row)
    throw ServiceError.invalid({
      webhook_endpoints: [`must not be more than ${endpointsPerAccount} for an account`],
    })
  return { endpoint: endpointOf(row), secret }
}
