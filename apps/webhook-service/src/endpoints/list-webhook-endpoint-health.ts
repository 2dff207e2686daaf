import { EndpointHealth } from '@leadwire/contracts'
import type { Operation } from '../operation'
import { statement } from '../statement'

const MAX_COUNT = 10_000

const countOf = (...statuses: string[]) => `(
  SELECT count(*) FROM (
    SELECT FROM deliveries WHERE endpoint_id = p.id AND status IN ('${statuses.join("', '")}') LIMIT ${MAX_COUNT}
  ) counted
)`

// At most 24 rows of hours for an endpoint, however many deliveries it has.
const healthOf = statement('list-webhook-endpoint-health')`
  SELECT p.id AS "endpointId", (SELECT max(last_success_at) FROM endpoint_hours WHERE endpoint_id = p.id) AS "lastSuccessAt",
    CASE WHEN p.enabled THEN w.open ELSE 0 END AS pending, CASE WHEN p.enabled THEN 0 ELSE w.open END AS held,
    ${countOf('exhausted')} AS exhausted, (
      SELECT jsonb_agg(jsonb_build_object(
        'hour', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'succeeded', coalesce(succeeded, 0), 'failed', coalesce(failed, 0)
      ) ORDER BY at)
      FROM generate_series(date_trunc('hour', $2::timestamptz) - interval '23 hours', $2, interval '1 hour') AS at
        LEFT JOIN endpoint_hours ON endpoint_id = p.id AND hour_of_day = extract(hour FROM at) AND hour = at
    ) AS hours
  FROM endpoints p CROSS JOIN LATERAL (SELECT ${countOf('pending', 'held')} AS open) w
  WHERE p.account_id = $1 AND p.deleted_at IS NULL ORDER BY p.id`

/** Of each endpoint the open and exhausted deliveries, the last success, and the attempts that started in each of the last 24 hours. */
export const listWebhookEndpointHealth: Operation<'listWebhookEndpointHealth'> = async (
  { database, clock },
  { accountId },
) => {
  const rows = await healthOf(database, accountId, clock.now())
  return { endpoints: rows.map((row) => EndpointHealth.fromPartial(row)) }
}
