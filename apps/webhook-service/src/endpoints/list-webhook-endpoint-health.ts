import type {
  AttemptsInHour,
  EndpointHealth,
  ListWebhookEndpointHealthRequest,
  ListWebhookEndpointHealthResponse,
} from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../clock'

const HOUR_MS = 3_600_000

interface Row extends Omit<EndpointHealth, 'lastSuccessAt' | 'hours'> {
  lastSuccessAt: string | null
  hours: { hour: number; succeeded: number; failed: number }[]
}

/** A count stops here. */
const COUNTED_AT_MOST = 10_000

const countOf = (...statuses: string[]) => `(
  SELECT count(*) FROM (
    SELECT FROM deliveries WHERE endpoint_id = p.id AND status IN ('${statuses.join("', '")}') LIMIT ${COUNTED_AT_MOST}
  ) counted
)`

// At most 24 rows of hours an endpoint: nothing grows with what was delivered.
const HEALTH = `
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
 * How the account's endpoints are doing: what waits for each or was given up (10,000 stands for as many or more), when it last took something, and the
 * attempts of each of the last 24 hours (by their start, in UTC, the current one last).
 */
export const listWebhookEndpointHealth = async (
  { database, clock }: { database: Database; clock: Clock },
  { accountId }: ListWebhookEndpointHealthRequest,
): Promise<ListWebhookEndpointHealthResponse> => {
  const rows = await database.query<Row>({
    name: 'list-webhook-endpoint-health',
    text: HEALTH,
    values: [accountId],
  })
  const now = clock.now().getTime()
  const endpoints = rows.map((row) => ({
    ...row,
    lastSuccessAt: row.lastSuccessAt ?? undefined,
    hours: lastDay(row.hours, now),
  }))
  return { endpoints }
}
