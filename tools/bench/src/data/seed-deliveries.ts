import { randomBytes } from 'node:crypto'
import type { Sql } from '../stack/database'
import type { SeededAccount } from './seed-accounts'

export type SeededEndpoint = { id: number; accountId: number; url: string }

/** Registers one endpoint for each account and address given. */
export async function seedEndpoints(
  webhooks: Sql,
  wanted: { account: SeededAccount; url: string }[],
): Promise<SeededEndpoint[]> {
  const rows = await webhooks.rows<{ id: number; account_id: number; url: string }>(
    `INSERT INTO endpoints (account_id, url, enabled, secret)
     SELECT account_id, url, true, $3 FROM unnest($1::bigint[], $2::text[]) AS given (account_id, url)
     RETURNING id, account_id, url`,
    [
      wanted.map(({ account }) => account.id),
      wanted.map(({ url }) => url),
      `whsec_${randomBytes(32).toString('base64')}`,
    ],
  )
  return rows.map(({ id, account_id, url }) => ({ id, accountId: account_id, url }))
}

/** Removes them, so that later leads are sent nowhere. */
export async function dropEndpoints(webhooks: Sql, endpoints: SeededEndpoint[]): Promise<void> {
  const ids = endpoints.map(({ id }) => id)
  await webhooks.rows(
    `UPDATE deliveries SET status = 'cancelled', next_attempt_at = NULL
     WHERE endpoint_id = ANY ($1) AND status IN ('pending', 'held')`,
    [ids],
  )
  await webhooks.rows('UPDATE endpoints SET deleted_at = clock_timestamp() WHERE id = ANY ($1)', [ids])
}

/**
 * Makes events, each with a delivery pending at one of the endpoints in turn. `dueAt` is an SQL expression over the
 * number n of the event, from 0; the body tells it, in milliseconds since 1970. `attempts` were made before.
 */
export async function seedDeliveries(
  webhooks: Sql,
  options: { endpoints: SeededEndpoint[]; count: number; dueAt: string; padding: string; attempts?: number },
): Promise<void> {
  const { endpoints, count, dueAt, padding, attempts = 0 } = options
  await webhooks.rows(
    `WITH given AS MATERIALIZED (
       SELECT n, gen_random_uuid() AS event_id, gen_random_uuid() AS reference, ${dueAt} AS due_at,
         ($1::bigint[])[1 + n % $2::int] AS endpoint_id, ($3::bigint[])[1 + n % $2::int] AS account_id
       FROM generate_series(0, $4::int - 1) AS n
     ), event AS (
       INSERT INTO events (id, account_id, account_key, lead_reference, body)
       SELECT event_id, account_id, 'lw_key_bench', reference, convert_to(
         '{"due":' || floor(extract(epoch FROM due_at) * 1000)::bigint || ',' || substr($5::text, 2), 'UTF8')
       FROM given
     )
     INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at)
     SELECT account_id, event_id, endpoint_id, reference, 'pending', $6, due_at FROM given ORDER BY n`,
    [
      endpoints.map(({ id }) => id),
      endpoints.length,
      endpoints.map(({ accountId }) => accountId),
      count,
      padding,
      attempts,
    ],
  )
}
