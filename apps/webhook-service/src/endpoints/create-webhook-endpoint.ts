import { differences, recordAudit, ServiceError, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { describeForAudit, ENDPOINT_COLUMNS, readEndpoint } from './endpoint-row'
import { normaliseFilter, renderFilterColumn } from './filter'
import { mergeHeaders } from './secrets/endpoint-headers'
import { newSecret, type SealedSecrets, sealSecrets } from './secrets/sealed-secrets'
import { IS_HELD, lockAccount } from './state/hold-account'

const create = statement<SealedSecrets>('create-webhook-endpoint')`
  INSERT INTO endpoints (account_id, url, description, enabled, disabled_by_suspension, sealed_secrets, events, leads,
    header_names, filter, include)
  SELECT :accountId, :url, :description, :enabled AND NOT ${IS_HELD}, :enabled AND ${IS_HELD}, :sealed, :events::text[],
    :leads, :headerNames::text[], :filter::jsonb, :include::text[]
  WHERE (
    SELECT count(*) FROM endpoints WHERE account_id = :accountId AND deleted_at IS NULL
  ) < :endpointsPerAccount
  RETURNING ${ENDPOINT_COLUMNS}`

/**
 * Creates an endpoint. Generates a secret unless the request has one. Throws `invalid` if a field is invalid,
 * if the egress guard refuses the URL, or if the account has too many endpoints.
 */
export const createWebhookEndpoint: Operation<'createWebhookEndpoint'> = async (dependencies, request) => {
  const { database, actor, sealer, endpointsPerAccount, refusal } = dependencies
  const { accountId, url, description, enabled, secret = newSecret(), leads = 'all' } = request
  const events = request.events?.types ?? ['lead.created']
  const include = request.include?.parts ?? []
  const headers = request.headers?.headers ?? []
  const filter = request.filter && normaliseFilter(request.filter)
  const values = mergeHeaders(headers)
  if (refusal !== undefined) throw ServiceError.invalid({ url: [refusal] })
  const { sealed } = sealSecrets(sealer, accountId, { secret, oldSecrets: [], headers: values })
  const endpoint = await database.transaction(async (tx) => {
    lockAccount.send(tx, { accountId })
    const [row] = await create(tx, {
      accountId,
      url,
      description: description || null,
      enabled,
      sealed,
      events,
      leads,
      headerNames: Object.keys(values),
      filter: renderFilterColumn(filter),
      include,
      endpointsPerAccount,
    })
    if (!row) {
      const message = `An account may not have more than ${endpointsPerAccount} webhook endpoints.`
      throw ServiceError.invalid({ webhook_endpoints: [message] })
    }
    const created = readEndpoint(dependencies, row)
    const changes = differences({}, describeForAudit(created))
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.created', targetId: created.id, changes })
    return created
  })
  return { endpoint, secret }
}
