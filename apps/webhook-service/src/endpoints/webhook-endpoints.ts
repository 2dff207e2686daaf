import { EndpointHealth } from '@leadwire/contracts'
import { differences, recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { describeForAudit, ENDPOINT_COLUMNS, readEndpoint, requireEndpoint } from './endpoint-row'
import { findRecovery } from './replay/replays'
import type { SealedSecrets } from './secrets/sealed-secrets'
import { deleteReports } from './state/endpoint-reports'
import { markOutOfSync } from './state/sync-deliveries'

const list = statement<SealedSecrets>('list-webhook-endpoints')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id`

const find = statement<SealedSecrets>('retrieve-webhook-endpoint')`
  SELECT ${ENDPOINT_COLUMNS} FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`

const markDeleted = statement<SealedSecrets>('delete-webhook-endpoint')`
  UPDATE endpoints SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${ENDPOINT_COLUMNS}`

const MAX_COUNT = 10_000

const renderCount = (...statuses: string[]) => `(
  SELECT count(*) FROM (
    SELECT FROM deliveries WHERE endpoint_id = p.id AND status IN ('${statuses.join("', '")}') LIMIT ${MAX_COUNT}
  ) counted
)`

// Reads at most 24 rows of `endpoint_hours` for each endpoint, however many deliveries the endpoint has.
const selectHealth = statement('list-webhook-endpoint-health')`
  SELECT p.id AS "endpointId",
    (SELECT max(last_success_at) FROM endpoint_hours WHERE endpoint_id = p.id) AS "lastSuccessAt",
    CASE WHEN p.enabled THEN w.open ELSE 0 END AS pending, CASE WHEN p.enabled THEN 0 ELSE w.open END AS held,
    ${renderCount('exhausted')} AS exhausted, (
      SELECT jsonb_agg(jsonb_build_object(
        'hour', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'succeeded', coalesce(succeeded, 0),
        'failed', coalesce(failed, 0)
      ) ORDER BY at)
      FROM generate_series(date_trunc('hour', $2::timestamptz) - interval '23 hours', $2, interval '1 hour') AS at
        LEFT JOIN endpoint_hours ON endpoint_id = p.id AND hour_of_day = extract(hour FROM at) AND hour = at
    ) AS hours
  FROM endpoints p CROSS JOIN LATERAL (SELECT ${renderCount('pending', 'held')} AS open) w
  WHERE p.account_id = $1 AND p.deleted_at IS NULL ORDER BY p.id`

/** Returns the endpoints of an account. */
export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async (
  dependencies,
  { accountId },
) => {
  const rows = await list(dependencies.database, accountId)
  return { endpoints: rows.map((row) => readEndpoint(dependencies, row)) }
}

/** Returns an endpoint, and the progress of its recovery. Throws `not_found`. */
export const retrieveWebhookEndpoint: Operation<'retrieveWebhookEndpoint'> = async (
  dependencies,
  { accountId, endpointId },
) => {
  const { database } = dependencies
  const endpoint = requireEndpoint(dependencies, await find(database, accountId, endpointId))
  return { endpoint, recovery: await findRecovery(database, endpointId) }
}

/**
 * Deletes an endpoint, cancels its open deliveries and deletes its manual attempts. Keeps the row of the
 * endpoint as long as its deliveries exist. Throws `not_found`.
 */
export const deleteWebhookEndpoint: Operation<'deleteWebhookEndpoint'> = async (
  dependencies,
  { accountId, endpointId },
) => {
  const { database, actor, wake } = dependencies
  await database.transaction(async (tx) => {
    const deleted = requireEndpoint(dependencies, await markDeleted(tx, accountId, endpointId))
    const changes = differences(describeForAudit(deleted), {})
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.deleted', targetId: endpointId, changes })
    await markOutOfSync(tx, [endpointId])
    await deleteReports(tx, endpointId)
  })
  wake('syncs')
  return {}
}

/**
 * Returns for each endpoint of an account the numbers of open and exhausted deliveries, the last success, and
 * the numbers of attempts in each of the last 24 hours.
 */
export const listWebhookEndpointHealth: Operation<'listWebhookEndpointHealth'> = async (
  { database, clock },
  { accountId },
) => {
  const rows = await selectHealth(database, accountId, clock.now())
  return { endpoints: rows.map((row) => EndpointHealth.fromPartial(row)) }
}
