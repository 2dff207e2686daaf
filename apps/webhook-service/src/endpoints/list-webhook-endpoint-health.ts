import type { AttemptsInHour, EndpointHealth } from '@leadwire/contracts'
import type { Operation } from '../operation'
import { statement } from '../statement'

const HOUR_MS = 3_600_000
/** Counts stop here. */
const MAX_COUNT = 10_000

interface Row extends Omit<EndpointHealth, 'lastSuccessAt' | 'hours'> {
  lastSuccessAt: string | null
  hours: { hour: number; succeeded: number; failed: number }[]
}

const countOf = (...statuses: string[]) => `(
  SELECT count(*) FROM (
    SELECT FROM deliveries WHERE endpoint_id = p.id AND status IN ('${statuses.join("', '")}') LIMIT ${MAX_COUNT}
  ) counted
)`

// At most 24 rows of hours for an endpoint, however many deliveries it has.
const healthOf = statement<Row>('list-webhook-endpoint-health')`
  SELECT p.id AS "endpointId", h.last_success_at AS "lastSuccessAt", coalesce(h.hours, '[]') AS hours,
    CASE WHEN p.enabled THEN w.open ELSE 0 END AS pending, CASE WHEN p.enabled THEN 0 ELSE w.open END AS held,
    ${countOf('exhausted')} AS exhausted
  FROM endpoints p CROSS JOIN LATERAL (SELECT ${countOf('pending', 'held')} AS open) w CROSS JOIN LATERAL (
    SELECT max(last_success_at) AS last_success_at, jsonb_agg(jsonb_build_object(
      'hour', extract(epoch FROM hour)::bigint * 1000, 'succeeded', succeeded, 'failed', failed
    )) AS hours
    FROM endpoint_hours WHERE endpoint_id = p.id
  ) h
  WHERE p.account_id = $1 AND p.deleted_at IS NULL ORDER BY p.id`

const lastDay = (known: Row['hours'], now: number): AttemptsInHour[] => {
  const thisHour = Math.floor(now / HOUR_MS) * HOUR_MS
  const byHour = new Map(known.map((each) => [each.hour, each]))
  return Array.from({ length: 24 }, (_, index) => {
    const hour = thisHour - (23 - index) * HOUR_MS
    const { succeeded = 0, failed = 0 } = byHour.get(hour) ?? {}
    return { hour: new Date(hour).toISOString().replace('Z', '000Z'), succeeded, failed }
  })
}

/**
 * The health of the account's endpoints: open and exhausted deliveries (10,000 stands for as many or more), the last success, and
 * the attempts in each of the last 24 hours (by their start, in UTC, the current hour last).
 */
export const listWebhookEndpointHealth: Operation<'listWebhookEndpointHealth', 'database' | 'clock'> = async (
  { database, clock },
  { accountId },
) => {
  const rows = await healthOf(database, accountId)
  const now = clock.now().getTime()
  const endpoints = rows.map(({ lastSuccessAt, hours, ...counts }) => ({
    ...counts,
    lastSuccessAt: lastSuccessAt ?? undefined,
    hours: lastDay(hours, now),
  }))
  return { endpoints }
}
