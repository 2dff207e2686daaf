import pg from 'pg'
import type { Context } from '../context'
import { readStat } from '../measure/process-stat'

const DAYS = 30
const ACCOUNTS = 1000
const TABLES = ['deliveries', 'attempts'] as const

type Shape = 'one table' | 'partitions by day'

const day = (index: number) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString()

/** The time by which a row belongs to a day. */
const TIME = { deliveries: 'created_at', attempts: 'started_at' }

const DELIVERY = `
  INSERT INTO deliveries (id, account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at,
    claimed_until, claim, created_at, updated_at)
  SELECT n, n % ${ACCOUNTS}, md5(n::text)::uuid, n % 3000, md5('lead ' || n)::uuid,`
const ATTEMPT = 'INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, response)'

const STATEMENTS = {
  store: `${DELIVERY} 'pending', 0, now(), now(), 7, '${day(DAYS)}', now() FROM unnest($1::bigint[]) n`,
  attempt: `
    WITH moved AS (
      UPDATE deliveries d SET status = 'delivered', attempt_count = 1, next_attempt_at = NULL, claim = NULL,
        claimed_until = NULL, updated_at = now()
      FROM unnest($1::bigint[]) AS a (id) WHERE d.id = a.id AND d.claim = 7
      RETURNING d.id, d.created_at
    ) ${ATTEMPT} SELECT id, 1, created_at, 20, 200, 'ok' FROM moved`,
  retrieve: `
    SELECT d.*, ARRAY (SELECT a FROM attempts a WHERE a.delivery_id = d.id ORDER BY number) FROM deliveries d
    WHERE account_id = ($1::bigint[])[1] % ${ACCOUNTS} AND id = ($1::bigint[])[1]`,
  page: `
    SELECT * FROM deliveries WHERE account_id = ($1::bigint[])[1] % ${ACCOUNTS} AND id < ($1::bigint[])[1] ORDER BY id DESC LIMIT 100`,
  prune: `
    WITH old AS MATERIALIZED (
      SELECT d.id FROM unnest($1::bigint[]) n JOIN deliveries d ON d.event_id = md5(n::text)::uuid ORDER BY d.id
      FOR UPDATE OF d SKIP LOCKED
    ), attempts_of_old AS (DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM old)))
    DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM old))`,
}

/** Makes copies of the tables with `perDay` rows for each of the days, all delivered. Indexes are made last. */
const fill = async (client: pg.Client, shape: Shape, perDay: number): Promise<void> => {
  const isOne = shape === 'one table'
  await client.query(
    'DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench; SET search_path TO bench, public',
  )
  const roomOf = (table: string) => (table === 'deliveries' ? 'WITH (fillfactor = 60)' : '')
  for (const table of TABLES) {
    const copy = `CREATE TABLE bench.${table} (LIKE public.${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`
    await client.query(`${copy} ${isOne ? roomOf(table) : `PARTITION BY RANGE (${TIME[table]})`}`)
    for (let at = 0; !isOne && at <= DAYS; at += 1) {
      const days = `FROM ('${day(at)}') TO ('${day(at + 1)}')`
      await client.query(
        `CREATE TABLE ${table}_${at} PARTITION OF ${table} FOR VALUES ${days} ${roomOf(table)}`,
      )
    }
  }
  for (let at = 0; at < DAYS; at += 1) {
    const time = `'${day(at)}'::timestamptz + (n - ${at * perDay}) * interval '1 day' / ${perDay + 1}`
    const rows = `generate_series(${at * perDay + 1}, ${(at + 1) * perDay}) n`
    await client.query(`${DELIVERY} 'delivered', 1, NULL, NULL, NULL, ${time}, ${time} FROM ${rows}`)
    await client.query(`${ATTEMPT} SELECT n, 1, ${time}, 20, 200, 'ok' FROM ${rows}`)
  }
  const found = await client.query<{ table: 'deliveries' | 'attempts'; made: string }>(
    `SELECT tablename AS table, indexdef AS made FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY ($1)`,
    [TABLES],
  )
  for (const { table, made } of found.rows) {
    const copy = made.replace(` public.${table} `, ` ${table} `)
    // Of a partitioned table the time belongs to each unique index.
    const isWider = !isOne && copy.startsWith('CREATE UNIQUE')
    await client.query(isWider ? copy.replace(/\)$/, `, ${TIME[table]})`) : copy)
  }
  for (const table of TABLES) await client.query(`VACUUM (ANALYZE) ${table}`)
}

/**
 * What PostgreSQL needs for deliveries and attempts of 30 days in one table, as they are, and in partitions, of which pruning drops one
 * (docs/decisions/0015-retention.md).
 */
export const partitions = async ({ stack, report, ground, options }: Context): Promise<void> => {
  const perDay = Math.floor((options.huge ? 10_000_000 : options.quick ? 30_000 : 1_000_000) / DAYS)
  const reads = options.quick ? 100 : 5000
  const client = new pg.Client({ connectionString: stack.database('webhooks') })
  await client.connect()
  ground.onLeave(() => client.end())
  const [backend] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows
  const usedTime = async () => (await readStat(backend!.pid))!.own
  for (const shape of ['one table', 'partitions by day'] as const) {
    await fill(client, shape, perDay)
    // As the services ask.
    await client.query('SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off')
    const measure = async (what: string, count: number, work: () => Promise<void>) => {
      const before = await usedTime()
      await work()
      const values = [((await usedTime()) - before) / count]
      report.series({ what: `${what}, ${shape}, µs`, better: 'less', values })
    }
    const all = async (name: keyof typeof STATEMENTS, ids: number[], size: number) => {
      for (let at = 0; at < ids.length; at += size) {
        const values = [ids.slice(at, at + size)]
        await client.query({ name: `${name} ${shape}`, text: STATEMENTS[name], values })
      }
    }
    const stored = DAYS * perDay
    const fresh = Array.from({ length: 10 * reads }, (_, n) => stored + 1 + n)
    const any = Array.from({ length: reads }, () => 1 + Math.floor(Math.random() * stored))
    const oldest = Array.from({ length: perDay }, (_, n) => 1 + n)
    await measure('store a delivery, 50 at once', fresh.length, () => all('store', fresh, 50))
    await measure('record its attempt, 50 at once', fresh.length, () => all('attempt', fresh, 50))
    await measure('retrieve a delivery with its attempts', reads, () => all('retrieve', any, 1))
    await measure('page of 100 deliveries of an account', reads, () => all('page', any, 1))
    await measure('prune a delivery with its attempts', perDay, async () => {
      if (shape !== 'one table') return void (await client.query('DROP TABLE deliveries_0, attempts_0'))
      await all('prune', oldest, 200)
      for (const table of TABLES) await client.query(`VACUUM ${table}`)
    })
  }
  await client.query('DROP SCHEMA bench CASCADE')
}
