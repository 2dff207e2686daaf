import type { Actor, CreateWebhookEndpointRequest, CreateWebhookEndpointResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { endpointEventsFaults, endpointLeadsFaults } from './endpoint-events'
import { endpointHeadersFaults, valuesOf } from './endpoint-headers'
import { auditedEndpoint, ENDPOINT_COLUMNS, endpointOf } from './endpoint-row'
import { endpointSecretFaults, newEndpointSecret } from './endpoint-secret'
import { endpointUrlFaults } from './endpoint-url'
import { type SecretSealer, sealSecrets } from './sealed-secrets'

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
    sealer,
    endpointsPerAccount,
  }: { database: Database; actor?: Actor | undefined; sealer: SecretSealer; endpointsPerAccount: number },
  request: CreateWebhookEndpointRequest,
): Promise<CreateWebhookEndpointResponse> => {
  const { accountId, url, description, enabled, secret = newEndpointSecret(), leads = 'all' } = request
  const events = request.events?.types ?? ['lead.created']
  const headers = request.headers?.headers ?? []
  const { values, faults: missing } = valuesOf(headers)
  const faults = {
    ...missing,
    ...endpointHeadersFaults(headers),
    ...endpointUrlFaults(url),
    ...endpointSecretFaults(secret),
    ...endpointEventsFaults(events),
    ...endpointLeadsFaults(leads),
  }
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  const [sealed, , plain] = sealSecrets(sealer, accountId, { secret, oldSecrets: [], headers: values })
  const endpoint = await database.transaction(async (tx) => {
    // Whoever makes endpoints of an account does so one after the other, so that the count of one holds for the other.
    tx.send({
      name: 'lock-account',
      text: 'SELECT pg_advisory_xact_lock($1, ($2::bigint % 2147483647)::int)',
      values: [ACCOUNT_LOCKS, accountId],
    })
    const [row] = await tx.query<object>({
      name: 'create-webhook-endpoint',
      text: `INSERT INTO endpoints (account_id, url, description, enabled, sealed_secrets, events, leads, header_names, secret)
             SELECT $1, $2, $3, $4, $5, $6::text[], $7, $8::text[], $10
             WHERE (SELECT count(*) FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL) < $9
             RETURNING ${ENDPOINT_COLUMNS}`,
      values: [
        ...[accountId, url, description || null, enabled, sealed, events, leads, Object.keys(values)],
        ...[endpointsPerAccount, plain],
      ],
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
