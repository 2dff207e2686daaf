import type { Endpoint, UpdateWebhookEndpointRequest } from '@leadwire/contracts'
import { differences, recordAudit, ServiceError, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { describeForAudit, ENDPOINT_COLUMNS, requireEndpoint } from './endpoint-row'
import { normaliseFilter, renderFilterColumn } from './filter'
import { replaceHeaders } from './secrets/endpoint-headers'
import type { SealedSecrets } from './secrets/sealed-secrets'
import { IS_HELD, lockAccount } from './state/hold-account'
import { markOutOfSync, resetFailures } from './state/sync-deliveries'

/** `suspended`: whether the endpoint is disabled only by the suspension of its account. */
type Row = SealedSecrets & { suspended: boolean }

const COLUMNS = `${ENDPOINT_COLUMNS}, disabled_by_suspension AS suspended`

const lock = statement<Row>('lock-endpoint-for-update')`
  SELECT ${COLUMNS} FROM endpoints
  WHERE account_id = :accountId AND id = :endpointId AND deleted_at IS NULL FOR NO KEY UPDATE`

const update = statement<Row>('update-webhook-endpoint')`
  UPDATE endpoints SET
    url = coalesce(:url, url),
    description = CASE WHEN :description::text IS NULL THEN description ELSE nullif(:description, '') END,
    enabled = coalesce(:enabled AND NOT ${IS_HELD}, enabled),
    disabled_by_suspension = coalesce(:enabled AND ${IS_HELD}, disabled_by_suspension),
    disabled_reason = CASE WHEN :enabled::boolean IS NULL THEN disabled_reason END,
    events = coalesce(:events::text[], events),
    leads = coalesce(:leads, leads),
    header_names = coalesce(:headerNames::text[], header_names),
    filter = CASE WHEN :hasFilter THEN :filter::jsonb ELSE filter END,
    include = coalesce(:include::text[], include),
    updated_at = clock_timestamp()
  WHERE account_id = :accountId AND id = :endpointId AND deleted_at IS NULL RETURNING ${COLUMNS}`

/**
 * Describes an endpoint for the audit log. Shows the endpoint as enabled if it will be enabled when the
 * account is resumed.
 */
const describe = (endpoint: Endpoint, [row]: Row[]) =>
  describeForAudit({ ...endpoint, enabled: endpoint.enabled || row!.suspended })

type AuditedEndpoint = ReturnType<typeof describe>

/**
 * Returns the changes for the audit log, which shows only the names of headers. `headerNames` are the names
 * of the headers that the request sets. The values of these headers may have changed even if the names are
 * the same.
 */
const listChanges = (before: AuditedEndpoint, after: AuditedEndpoint, headerNames: string[] | null) => {
  const changes = differences(before, after)
  if (headerNames) changes['headers'] ??= { from: headerNames, to: headerNames }
  return changes
}

/** Returns the values of the columns. null keeps the stored value. */
const readColumns = (request: UpdateWebhookEndpointRequest) => {
  const { url = null, description = null, enabled = null, leads = null } = request
  const filter = request.filter && normaliseFilter(request.filter)
  return {
    url,
    description,
    enabled,
    leads,
    events: request.events?.types ?? null,
    include: request.include?.parts ?? null,
    hasFilter: filter !== undefined,
    filter: renderFilterColumn(filter),
  }
}

/**
 * Changes the fields that the request has. An empty description clears the description. A header without a
 * value keeps its stored value. While the account is suspended, the endpoint stays disabled. Throws `invalid`
 * and `not_found`.
 */
export const updateWebhookEndpoint: Operation<'updateWebhookEndpoint'> = async (dependencies, request) => {
  const { database, actor, sealer, refusal, wake } = dependencies
  const { accountId, endpointId, ...fields } = request
  const { url, enabled } = fields
  const headers = fields.headers?.headers
  const columns = readColumns(request)
  const endpoint = await database.transaction(async (tx) => {
    if (enabled !== undefined) lockAccount.send(tx, { accountId })
    const rows = await lock(tx, { accountId, endpointId })
    const before = requireEndpoint(dependencies, rows)
    if (Object.values(fields).every((field) => field === undefined)) return before
    if (url !== before.url && refusal !== undefined) throw ServiceError.invalid({ url: [refusal] })
    const headerNames = headers ? await replaceHeaders(tx, sealer, { accountId, endpointId, headers }) : null
    const updatedRows = await update(tx, { accountId, endpointId, ...columns, headerNames })
    const updated = requireEndpoint(dependencies, updatedRows)
    const changes = listChanges(describe(before, rows), describe(updated, updatedRows), headerNames)
    if (Object.keys(changes).length > 0)
      recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.updated', targetId: endpointId, changes })
    if (changes['enabled']) await markOutOfSync(tx, [endpointId])
    else if (changes['url']) await resetFailures(tx, [endpointId])
    return updated
  })
  wake('syncs')
  if (enabled) wake('webhooks')
  return { endpoint }
}
