import { type Lead, leadJson } from '@leadwire/contracts'
import { fillLeads } from './fill-leads'
import { loadLeads } from './load-leads'
import { portionsOf, type Sql } from './sql'

export const deliveryStatuses = ['delivered', 'pending', 'held', 'exhausted'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** Bodies travel in one statement, a kilobyte each, and as one: an array of them would be written and read as text. */
const PORTION = 10_000

/** When the six attempts of the default schedule are made, in seconds from the first. */
const ATTEMPTS_AT = [0, 60, 360, 1260, 3060, 6660]

const INSERT = `
  WITH made AS MATERIALIZED (
    SELECT number, $5::timestamptz + seconds * interval '1 second' AS started_at FROM unnest($6::int[]) WITH ORDINALITY AS a (seconds, number)
  ), given AS MATERIALIZED (
    SELECT gen_random_uuid() AS event_id, reference, n, due_at, length, sum(length) OVER (ORDER BY n) - length + 1 AS first
    FROM unnest($7::uuid[], $8::int[], $9::timestamptz[]) WITH ORDINALITY AS g (reference, length, due_at, n)
  ), event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, created_at)
    SELECT event_id, $1, $2, reference, substring($11::bytea FROM first::int FOR length), $5 FROM given
  ), delivery AS (
    INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at,
      created_at, updated_at)
    SELECT $1, event_id, $3, reference, $4, cardinality($6::int[]), due_at, $5,
      coalesce((SELECT max(started_at) FROM made), $5)
    FROM given ORDER BY n RETURNING id
  ), attempt AS (
    INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response)
    SELECT id, number, started_at, 12, CASE $4 WHEN 'delivered' THEN 200 ELSE 500 END,
      CASE $4 WHEN 'delivered' THEN NULL ELSE 'http_status' END, ''
    FROM delivery CROSS JOIN made
  )
  INSERT INTO endpoint_hours AS known (endpoint_id, hour_of_day, hour, succeeded, failed, last_success_at)
  SELECT $3, extract(hour FROM started_at), max(date_trunc('hour', started_at)),
    CASE $4 WHEN 'delivered' THEN $10::int ELSE 0 END, CASE $4 WHEN 'delivered' THEN 0 ELSE count(*) * $10::int END,
    CASE $4 WHEN 'delivered' THEN max(started_at) END
  FROM made GROUP BY 2 ORDER BY 2
  ON CONFLICT (endpoint_id, hour_of_day) DO UPDATE SET
    hour = excluded.hour,
    succeeded = excluded.succeeded + CASE WHEN known.hour = excluded.hour THEN known.succeeded ELSE 0 END,
    failed = excluded.failed + CASE WHEN known.hour = excluded.hour THEN known.failed ELSE 0 END,
    last_success_at = greatest(known.last_success_at, excluded.last_success_at)`

export interface DeliveriesToFill {
  endpointId: number
  count: number
  status: DeliveryStatus
  /** When an open one is due, in milliseconds since 1970: the first of them, and how far apart they are. */
  due?: { from: number; everyMs: number }
  /** Attempts that an open one has failed. */
  failed?: number
}

/**
 * Gives an endpoint deliveries with their events, each of one of the account's newest leads; what leads are missing is made.
 * The endpoint of held ones is disabled, and must be enabled for pending ones. Answers with the leads' references, in
 * the order of the deliveries.
 */
export const fillDeliveries = async (
  { leads, webhooks, assetsUrl }: { leads: Sql; webhooks: Sql; assetsUrl: string },
  { endpointId, count, status, due = { from: Date.now(), everyMs: 0 }, failed = 0 }: DeliveriesToFill,
): Promise<string[]> => {
  const accountId = await prepareEndpoint(webhooks, endpointId, status)
  const { apiKey, after } = await prepareLeads({ leads, assetsUrl }, accountId, count)
  const isOpen = status === 'pending' || status === 'held'
  const attempts = ATTEMPTS_AT.slice(0, isOpen ? failed : status === 'delivered' ? 1 : undefined)
  const startedAt = new Date(Date.now() - (attempts.at(-1) ?? 0) * 1000 - 1000).toISOString()
  const dueAt = (index: number) => (isOpen ? new Date(due.from + index * due.everyMs).toISOString() : null)
  const references: string[] = []
  for (const portion of portionsOf(count, PORTION)) {
    const first = references.length
    const some = await loadLeads(leads, { accountId, after: after + first, count: portion })
    const bodies = some.map(bodyOf)
    await webhooks.transaction(async (rows) => {
      // As a fan-out does: a change of the endpoint waits for these rows, or they are of the changed one.
      const [endpoint] = await rows<{ enabled: boolean }>(
        'SELECT enabled FROM endpoints WHERE id = $1 AND deleted_at IS NULL FOR SHARE',
        [endpointId],
      )
      if (!endpoint || endpoint.enabled === (status === 'held'))
        throw new Error(`Endpoint ${endpointId} was changed meanwhile.`)
      await rows(INSERT, [
        ...[accountId, apiKey, endpointId, status, startedAt, attempts],
        some.map(({ reference }) => reference),
        bodies.map(({ length }) => length),
        some.map((_, index) => dueAt(first + index)),
        portion,
        Buffer.concat(bodies),
      ])
    })
    for (const { reference } of some) references.push(reference)
  }
  return references
}

/** What the webhook of a lead carries (interface: Lead Created). */
const bodyOf = (lead: Lead) => Buffer.from(`{"data":${leadJson(lead, { productStyle: false })}}`)

const prepareEndpoint = async (
  webhooks: Sql,
  endpointId: number,
  status: DeliveryStatus,
): Promise<number> => {
  const [endpoint] = await webhooks.rows<{ account_id: number; enabled: boolean }>(
    'SELECT account_id, enabled FROM endpoints WHERE id = $1 AND deleted_at IS NULL',
    [endpointId],
  )
  if (!endpoint) throw new Error(`There is no endpoint ${endpointId}.`)
  if (status === 'pending' && !endpoint.enabled)
    throw new Error(`Endpoint ${endpointId} is disabled, so that its open deliveries are held, not pending.`)
  if (status === 'held' && endpoint.enabled) await disable(webhooks, endpointId)
  return endpoint.account_id
}

const disable = (webhooks: Sql, endpointId: number) =>
  webhooks.transaction(async (rows) => {
    await rows('UPDATE endpoints SET enabled = false, updated_at = clock_timestamp() WHERE id = $1', [
      endpointId,
    ])
    await rows('INSERT INTO unsettled_endpoints (endpoint_id) VALUES ($1) ON CONFLICT DO NOTHING', [
      endpointId,
    ])
  })

/** The account's key, and the number before its newest `count` leads. */
const prepareLeads = async (
  { leads, assetsUrl }: { leads: Sql; assetsUrl: string },
  accountId: number,
  count: number,
) => {
  const select = () =>
    leads.rows<{ api_key: string; lead_count: number }>(
      'SELECT api_key, lead_count FROM accounts WHERE id = $1',
      [accountId],
    )
  const [account] = await select()
  if (!account) throw new Error(`There is no account ${accountId}.`)
  await fillLeads({ leads, assetsUrl }, accountId, Math.max(0, count - account.lead_count), {
    searchable: false,
  })
  const [filled] = await select()
  return { apiKey: account.api_key, after: filled!.lead_count - count }
}
