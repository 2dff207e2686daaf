import type { Endpoint } from '@leadwire/contracts'
import { differences, recordAudit, statement } from '@leadwire/service-kit'
import { validate } from '../arguments'
import type { Operation } from '../operation'
import { auditedEndpoint, ENDPOINT_COLUMNS, endpointViolations, theEndpoint } from './endpoint-row'
import { filterColumn, normalFilter } from './filter'
import { headerViolations, replaceHeaders } from './secrets/endpoint-headers'
import type { SealedSecrets } from './secrets/sealed-secrets'
import { IS_HELD, lockAccount } from './state/hold-account'
import { deleteFailures, markOutOfSync } from './state/sync-deliveries'

/** `suspended`: disabled by the suspension of its account. */
type Row = SealedSecrets & { suspended: boolean }

const COLUMNS = `${ENDPOINT_COLUMNS}, disabled_by_suspension AS suspended`

const lock = statement<Row>('lock-endpoint-for-update')`
  SELECT ${COLUMNS} FROM endpoints
  WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`

const update = statement<Row>('update-webhook-endpoint')`
  UPDATE endpoints SET
    url = coalesce($3, url),
    description = CASE WHEN $4::text IS NULL THEN description ELSE nullif($4, '') END,
    enabled = coalesce($5 AND NOT ${IS_HELD}, enabled),
    disabled_by_suspension = coalesce($5 AND ${IS_HELD}, disabled_by_suspension),
    disabled_reason = CASE WHEN $5::boolean IS NULL THEN disabled_reason END,
    events = coalesce($6::text[], events),
    leads = coalesce($7, leads),
    header_names = coalesce($8::text[], header_names),
    filter = CASE WHEN $9 THEN $10::jsonb ELSE filter END,
    include = coalesce($11::text[], include),
    updated_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${COLUMNS}`

/** The audit log has what will be when the account is resumed. */
const audited = (endpoint: Endpoint, [row]: Row[]) =>
  auditedEndpoint({ ...endpoint, enabled: endpoint.enabled || row!.suspended })

/**
 * Changes the given fields. An empty description clears it; a header without a value keeps its value. While its account is suspended an
 * endpoint stays disabled. Throws invalid and not_found.
 */
export const updateWebhookEndpoint: Operation<'updateWebhookEndpoint'> = async (dependencies, request) => {
  const { database, actor, sealer, wake } = dependencies
  const { accountId, endpointId, url, description, enabled, leads } = request
  const events = request.events?.types
  const include = request.include?.parts
  const headers = request.headers?.headers
  const filter = request.filter && normalFilter(request.filter)
  const given = [url, description, enabled, events, leads, include, headers, filter]
  const endpoint = await database.transaction(async (tx) => {
    if (enabled !== undefined) lockAccount.send(tx, accountId)
    const rows = await lock(tx, accountId, endpointId)
    const before = theEndpoint(dependencies, rows)
    if (given.every((each) => each === undefined)) return before
    const refusal = url === before.url ? undefined : dependencies.refusal
    validate({
      ...endpointViolations({ url, events, leads, filter, include }, refusal),
      ...headerViolations(headers ?? []),
    })
    const headerNames = headers && (await replaceHeaders(tx, sealer, { accountId, endpointId, headers }))
    const fields = [url, description, enabled, events, leads, headerNames].map((each) => each ?? null)
    const more = [filter !== undefined, filterColumn(filter), include ?? null]
    const updatedRows = await update(tx, accountId, endpointId, ...fields, ...more)
    const updated = theEndpoint(dependencies, updatedRows)
    const changes = differences(audited(before, rows), audited(updated, updatedRows))
    // Values are not compared: the same names may have new ones.
    if (headers) changes['headers'] ??= { from: updated.headerNames, to: updated.headerNames }
    if (Object.keys(changes).length > 0)
      recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.updated', targetId: endpointId, changes })
    if (changes['enabled']) await markOutOfSync(tx, [endpointId])
    else if (changes['url']) await deleteFailures(tx, [endpointId])
    return updated
  })
  wake('syncs')
  if (enabled) wake('webhooks')
  return { endpoint }
}
