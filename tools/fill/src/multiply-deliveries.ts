import type { Sql } from './sql'

/** Copies that one statement makes. */
const PORTION = 200_000

// The primary keys of deliveries and attempts stay: they lead to what is copied, and grow at their end.
const INDEXES = `
  SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', indexrelid::regclass)
      ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', indrelid::regclass, conname) END AS drop,
    CASE WHEN c.oid IS NULL THEN pg_get_indexdef(indexrelid)
      ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', indrelid::regclass, conname, pg_get_constraintdef(c.oid)) END AS make
  FROM pg_index LEFT JOIN pg_constraint c ON conindid = indexrelid
  WHERE indrelid = 'events'::regclass OR (indrelid = 'deliveries'::regclass AND NOT indisprimary)`

const COPY = `
  WITH source AS MATERIALIZED (
    SELECT d.*, copy, gen_random_uuid() AS copied_event, nextval(pg_get_serial_sequence('deliveries', 'id')) AS copied_id
    FROM (SELECT * FROM deliveries WHERE endpoint_id = ANY ($1) AND id > $2 AND id <= $3 ORDER BY id LIMIT ${PORTION} / greatest($4::int, 1) + 1) d
      CROSS JOIN generate_series(1, $4::int) AS copy
  ), counter AS (
    UPDATE event_counters c SET last = last + copies
    FROM (SELECT account_id, count(*) AS copies FROM source GROUP BY account_id) s
    WHERE c.account_id = s.account_id RETURNING last
  ), event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, type, body, created_at, fan_out, number, lead_version)
    SELECT copied_event, account_id, $5, lead_reference, 'lead.updated',
      convert_to(format('{"data":{"reference":"%s"}}', lead_reference), 'UTF8'), created_at - copy * interval '1 minute', 1,
      last + 1 - row_number() OVER (), 2
    FROM source CROSS JOIN counter
  ), delivery AS (
    INSERT INTO deliveries (id, account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at,
      created_at, updated_at)
    OVERRIDING SYSTEM VALUE
    SELECT copied_id, account_id, copied_event, endpoint_id, lead_reference, status, attempt_count,
      next_attempt_at - copy * interval '1 minute', created_at - copy * interval '1 minute', updated_at - copy * interval '1 minute'
    FROM source
  ), attempt AS (
    INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response)
    SELECT copied_id, number, started_at - copy * interval '1 minute', duration_ms, a.status, error, response
    FROM source s JOIN attempts a ON a.delivery_id = s.id
  )
  SELECT max(id) AS last FROM source`

/**
 * Makes the deliveries of an account's endpoints `times` as many, within minutes where that comes to ten million: each copy has an event
 * of its own, of the same lead, with a body of some sixty bytes. In one transaction, without the indexes meanwhile: who uses these
 * tables waits for it.
 */
export const multiplyDeliveries = (webhooks: Sql, endpointIds: number[], times: number): Promise<void> =>
  webhooks.transaction(async (rows) => {
    await rows('LOCK TABLE events, deliveries, attempts')
    const [source] = await rows<{ last: number; key: string }>(
      `SELECT d.id AS last, account_key AS key FROM deliveries d JOIN events e ON e.id = event_id
       WHERE endpoint_id = ANY ($1) ORDER BY d.id DESC LIMIT 1`,
      [endpointIds],
    )
    if (!source) throw new Error(`There are no deliveries of endpoint ${endpointIds.join(', ')}.`)
    // By its statistics of before, PostgreSQL would read all that is there for each portion.
    for (const plan of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'])
      await rows(`SET LOCAL ${plan} = off`)
    await rows(`SET LOCAL maintenance_work_mem = '1GB'`)
    const indexes = await rows<{ drop: string; make: string }>(INDEXES)
    for (const { drop } of indexes) await rows(drop)
    const copy = async (after: number) =>
      (
        await rows<{ last: number | null }>(COPY, [endpointIds, after, source.last, times - 1, source.key])
      )[0]!.last
    for (let last: number | null = 0; last !== null; ) last = await copy(last)
    for (const { make } of indexes) await rows(make)
  })
