import type { Sql } from './sql'

/** The number of copies that one statement makes. */
const BATCH = 200_000

// Selects the indexes of events and deliveries that are dropped during the copy. The primary keys of
// deliveries and attempts stay: the copy finds its source rows by these keys, and new rows are cheap, because
// their keys go to the end of the indexes.
const INDEXES = `
  SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', indexrelid::regclass)
      ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', indrelid::regclass, conname) END AS drop,
    CASE WHEN c.oid IS NULL THEN pg_get_indexdef(indexrelid)
      ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', indrelid::regclass, conname, pg_get_constraintdef(c.oid))
      END AS make
  FROM pg_index LEFT JOIN pg_constraint c ON conindid = indexrelid
  WHERE indrelid = 'events'::regclass OR (indrelid = 'deliveries'::regclass AND NOT indisprimary)`

const COPY = `
  WITH source AS MATERIALIZED (
    SELECT d.*, copy, gen_random_uuid() AS copied_event,
      nextval(pg_get_serial_sequence('deliveries', 'id')) AS copied_id
    FROM (
        SELECT * FROM deliveries WHERE endpoint_id = ANY ($1) AND id > $2 AND id <= $3
        ORDER BY id LIMIT ${BATCH} / greatest($4::int, 1) + 1
      ) d
      CROSS JOIN generate_series(1, $4::int) AS copy
  ), counter AS (
    UPDATE event_counters c SET last = last + copies
    FROM (SELECT account_id, count(*) AS copies FROM source GROUP BY account_id) s
    WHERE c.account_id = s.account_id RETURNING last
  ), event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, type, body, created_at, fan_out, number,
      lead_version)
    SELECT copied_event, account_id, $5, lead_reference, 'lead.updated',
      convert_to(format('{"data":{"reference":"%s"}}', lead_reference), 'UTF8'), created_at - copy * interval '1 minute', 1,
      last + 1 - row_number() OVER (), 2
    FROM source CROSS JOIN counter
  ), delivery AS (
    INSERT INTO deliveries (id, account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at,
      created_at, updated_at)
    OVERRIDING SYSTEM VALUE
    SELECT copied_id, account_id, copied_event, endpoint_id, lead_reference, status, attempt_count,
      next_attempt_at - copy * interval '1 minute', created_at - copy * interval '1 minute',
      updated_at - copy * interval '1 minute'
    FROM source
  ), attempt AS (
    INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response)
    SELECT copied_id, number, started_at - copy * interval '1 minute', duration_ms, a.status, error, response
    FROM source s JOIN attempts a ON a.delivery_id = s.id
  )
  SELECT max(id) AS last FROM source`

/**
 * Multiplies the deliveries of endpoints of one account by `times`. Ten million deliveries take minutes. Each
 * copy has a separate event of the same lead, with a body of some sixty bytes. Drops the indexes and
 * recreates them in one transaction. Meanwhile all other users of these tables wait.
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
    // Forbids plans that read whole tables. With outdated statistics, PostgreSQL would choose such plans for
    // each batch.
    for (const plan of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'])
      await rows(`SET LOCAL ${plan} = off`)
    await rows(`SET LOCAL maintenance_work_mem = '1GB'`)
    const indexes = await rows<{ drop: string; make: string }>(INDEXES)
    for (const { drop } of indexes) await rows(drop)
    let last: number | null = 0
    while (last !== null) {
      const values: unknown[] = [endpointIds, last, source.last, times - 1, source.key]
      const copied: { last: number | null }[] = await rows(COPY, values)
      last = copied[0]!.last
    }
    for (const { make } of indexes) await rows(make)
  })
