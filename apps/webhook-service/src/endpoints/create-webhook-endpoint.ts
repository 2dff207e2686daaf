import type { Actor, CreateWebhookEndpointRequest, CreateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { auditedEndpoint, ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'
import { endpointSecretFaults, newEndpointSecret } from './endpoint-secret'
import { endpointUrlFaults } from './endpoint-url'

/** Any constant: it tells these locks from others in the same database. */
const ACCOUNT_LOCKS = 1_280_791_892

/**
 * Registers an address for the account's webhooks; makes the secret unless one is given. Throws invalid, also when the
 * account has as many endpoints as it may.
 */
export const createWebhookEndpoint = async (
  {
    database,
    actor,
    endpointsPerAccount,
  }: { database: Database; actor?: Actor | undefined; endpointsPerAccount: number },
  request: CreateWebhookEndpointRequest,
): Promise<CreateWebhookEndpointResponse> => {
  const { accountId, url, description, enabled, secret = newEndpointSecret() } = request
  const faults = { ...endpointUrlFaults(url), ...endpointSecretFaults(secret) }
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  const endpoint = await database.transaction(async (tx) => {
    // Whoever makes endpoints of an account does so one after the other, so that the count of one holds for the other.
    tx.send({
      name: 'lock-account',
      text: 'SELECT pg_advisory_xact_lock($1, ($2::bigint % 2147483647)::int)',
      values: [ACCOUNT_LOCKS, accountId],
    })
    const [row] = await tx.query<object>({
      name: 'create-webhook-endpoint',
      text: `INSERT INTO endpoints (account_id, url, description, enabled, secret)
             SELECT $1, $2, $3, $4, $5
             WHERE (SELECT count(*) FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL) < $6
             RETURNING ${ENDPOINT_COLUMNS}`,
      values: [accountId, url, description || null, enabled, secret, endpointsPerAccount],
    })
    if (!row) return undefined
    const made = endpointOf(row)
    const changes = differences({}, auditedEndpoint(made))
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.created', targetId: made.id, changes })
    return made
  })
  if (!endpoint)
    throw ServiceError.invalid({
      webhook_endpoints: [`must not be more than ${endpointsPerAccount} for an account`],
    })
  return { endpoint, secret }
}
