import { randomUUID } from 'node:crypto'
import { type Lead, leadJson } from '@leadwire/contracts'
import { fillLeads } from './fill-leads'
import { type LoadedLead, loadLeads } from './load-leads'
import { type Sql, splitIntoBatches } from './sql'

export const deliveryStatuses = ['delivered', 'pending', 'held', 'exhausted'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/**
 * The number of deliveries that one statement writes. Their bodies, about a kilobyte each, are sent as one
 * buffer, because pg would send an array of buffers as text.
 */
const BATCH = 10_000

/** The times of the six attempts of the default schedule, in seconds after the first attempt. */
const ATTEMPTS_AT = [0, 60, 360, 1260, 3060, 6660]

const INSERT = `
  WITH made AS MATERIALIZED (
    SELECT number, $5::timestamptz + seconds * interval '1 second' AS started_at
    FROM unnest($6::int[]) WITH ORDINALITY AS a (seconds, number)
  ), given AS MATERIALIZED (
    SELECT event_id, reference, n, due_at, length, sum(length) OVER (ORDER BY n) - length + 1 AS first
    FROM unnest($7::uuid[], $8::int[], $9::timestamptz[], $12::uuid[]) WITH ORDINALITY AS g (reference, length, due_at, event_id, n)
  ), counter AS (
    INSERT INTO event_counters AS c (account_id, last) VALUES ($1, $10::int)
    ON CONFLICT (account_id) DO UPDATE SET last = c.last + excluded.last RETURNING last
  ), event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, created_at, fan_out, number, lead_version)
    SELECT event_id, $1, $2, reference, substring($11::bytea FROM first::int FOR length), $5, 1,
      last - $10::int + n, 1
    FROM given CROSS JOIN counter
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
  /**
   * When open deliveries are due: the first one at `from` (milliseconds since 1970), then another one every
   * `everyMs`. By default the last delivery is due now, and deliveries are due a millisecond apart.
   */
  due?: { from: number; everyMs: number }
  /** The number of failed attempts of each open delivery. */
  failed?: number
}

/**
 * Adds deliveries with events to an endpoint, one for each of the account's newest leads. Adds leads if the
 * account has too few. Status `held` disables the endpoint. Status `pending` requires an enabled endpoint.
 * Returns the references of the leads in the order of the deliveries.
 */
export const fillDeliveries = async (
  stack: { leads: Sql; webhooks: Sql; assetsUrl: string },
  asked: DeliveriesToFill,
): Promise<string[]> => {
  const { leads, webhooks } = stack
  const accountId = await prepareEndpoint(webhooks, asked.endpointId, asked.status)
  const { apiKey, leadCount } = await loadAccount(leads, accountId)
  const missing = Math.max(0, asked.count - leadCount)
  const references: string[] = []
  const write = createDeliveryWriter(webhooks, { accountId, apiKey, ...asked }, references)
  let after = leadCount - asked.count + missing
  for (const size of splitIntoBatches(asked.count - missing, BATCH)) {
    const batch = await loadLeads(leads.rows, { accountId, after, count: size })
    // Writes new events, because webhook-service may already have stored the original events of these leads.
    await write(batch.map(({ lead }) => ({ lead, eventId: null })))
    after += size
  }
  await fillLeads(stack, accountId, missing, {
    searchable: false,
    writeEvents: async (rows, { before, count }) =>
      write(await loadLeads(rows, { accountId, after: before, count })),
  })
  return references
}

const countAttempts = (status: DeliveryStatus, failed: number): number => {
  if (status === 'delivered') return 1
  return status === 'exhausted' ? ATTEMPTS_AT.length : failed
}

/**
 * Returns a function that writes events and deliveries for a batch of leads, and adds the references of the
 * leads to `references`.
 */
const createDeliveryWriter = (
  webhooks: Sql,
  {
    accountId,
    apiKey,
    endpointId,
    status,
    count,
    due = { from: Date.now() - count, everyMs: 1 },
    failed = 0,
  }: DeliveriesToFill & { accountId: number; apiKey: string },
  references: string[],
) => {
  const isOpen = status === 'pending' || status === 'held'
  const attempts = ATTEMPTS_AT.slice(0, countAttempts(status, failed))
  const startedAt = new Date(Date.now() - (attempts.at(-1) ?? 0) * 1000 - 1000).toISOString()
  const computeDueAt = (index: number) =>
    isOpen ? new Date(due.from + index * due.everyMs).toISOString() : null
  return async (batch: LoadedLead[]): Promise<void> => {
    const first = references.length
    const bodies = batch.map(({ lead }) => renderBody(lead))
    await webhooks.transaction(async (rows) => {
      // Locks the endpoint, as a fan-out does, so that it cannot change before these rows are committed.
      const [endpoint] = await rows<{ enabled: boolean }>(
        'SELECT enabled FROM endpoints WHERE id = $1 AND deleted_at IS NULL FOR SHARE',
        [endpointId],
      )
      if (!endpoint || endpoint.enabled === (status === 'held'))
        throw new Error(
          `Endpoint ${endpointId} was changed or deleted during the run. Run the command again.`,
        )
      await rows(INSERT, [
        accountId,
        apiKey,
        endpointId,
        status,
        startedAt,
        attempts,
        batch.map(({ lead }) => lead.reference),
        bodies.map(({ length }) => length),
        batch.map((_, index) => computeDueAt(first + index)),
        batch.length,
        Buffer.concat(bodies),
        batch.map(({ eventId }) => eventId ?? randomUUID()),
      ])
    })
    for (const { lead } of batch) references.push(lead.reference)
  }
}

/** Renders the body of the `lead.created` webhook. */
const renderBody = (lead: Lead) => Buffer.from(`{"data":${leadJson(lead, { productStyle: false })}}`)

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
    throw new Error(
      `Endpoint ${endpointId} is disabled, and deliveries of a disabled endpoint are held. ` +
        'Enable the endpoint, or use --status held.',
    )
  if (status === 'held' && endpoint.enabled) await disable(webhooks, endpointId)
  return endpoint.account_id
}

const disable = (webhooks: Sql, endpointId: number) =>
  webhooks.transaction(async (rows) => {
    await rows('UPDATE endpoints SET enabled = false, updated_at = clock_timestamp() WHERE id = $1', [
      endpointId,
    ])
    await rows('INSERT INTO endpoint_syncs (endpoint_id) VALUES ($1) ON CONFLICT DO NOTHING', [endpointId])
  })

const loadAccount = async (leads: Sql, id: number) => {
  const [account] = await leads.rows<{ apiKey: string; leadCount: number }>(
    'SELECT api_key AS "apiKey", lead_count AS "leadCount" FROM accounts WHERE id = $1',
    [id],
  )
  if (!account) throw new Error(`There is no account ${id}.`)
  return account
}
