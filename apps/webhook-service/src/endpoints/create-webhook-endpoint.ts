import { differences, recordAudit, statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import type { Operation } from '../operation'
import { auditedEndpoint, ENDPOINT_COLUMNS, endpointOf, endpointViolations } from './endpoint-row'
import { filterColumn, normalFilter } from './filter'
import { headerValues, headerViolations } from './secrets/endpoint-headers'
import { newSecret, type SealedSecrets, sealSecrets, secretViolation } from './secrets/sealed-secrets'
import { IS_HELD, lockAccount } from './state/hold-account'

const create = statement<SealedSecrets>('create-webhook-endpoint')`
  INSERT INTO endpoints (account_id, url, description, enabled, disabled_by_suspension, sealed_secrets, events, leads, header_names, filter,
    include)
  SELECT $1, $2, $3, $4 AND NOT ${IS_HELD}, $4 AND ${IS_HELD}, $5, $6::text[], $7, $8::text[], $10::jsonb, $11::text[]
  WHERE (SELECT count(*) FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL) < $9
  RETURNING ${ENDPOINT_COLUMNS}`

/** Creates an endpoint, with a new secret unless the request has one. Throws invalid, also for a refused address and beyond the account's limit. */
export const createWebhookEndpoint: Operation<'createWebhookEndpoint'> = async (dependencies, request) => {
  const { database, actor, sealer, endpointsPerAccount, refusal } = dependencies
  const { accountId, url, description, enabled, secret = newSecret(), leads = 'all' } = request
  const events = request.events?.types ?? ['lead.created']
  const include = request.include?.parts ?? []
  const headers = request.headers?.headers ?? []
  const filter = request.filter && normalFilter(request.filter)
  const { values, missing } = headerValues(headers)
  validate({
    ...{ ...missing, ...headerViolations(headers) },
    ...endpointViolations({ url, events, leads, filter, include }, refusal),
    secret: secretViolation(secret),
  })
  const { sealed } = sealSecrets(sealer, accountId, { secret, oldSecrets: [], headers: values })
  const endpoint = await database.transaction(async (tx) => {
    lockAccount.send(tx, accountId)
    const columns = [accountId, url, description || null, enabled, sealed, events, leads, Object.keys(values)]
    const [row] = await create(tx, ...columns, endpointsPerAccount, filterColumn(filter), include)
    validate({
      webhook_endpoints: row
        ? undefined
        : `An account may not have more than ${endpointsPerAccount} webhook endpoints.`,
    })
    const created = endpointOf(dependencies, row!)
    const changes = differences({}, auditedEndpoint(created))
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.created', targetId: created.id, changes })
    return created
  })
  return { endpoint, secret }
}
