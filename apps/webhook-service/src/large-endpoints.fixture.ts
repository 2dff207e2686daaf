import {
  connectDatabase,
  createLifecycle,
  createLogger,
  createSealer,
  type Database,
  migrate,
  type OpenTransaction,
  type Query,
} from '@leadwire/service-kit'
import { createDatabase, manualClock } from '@leadwire/test-kit'
import { Client } from 'pg'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { migrations } from './migrations'
import type { Dependencies } from './operation'

/** Builds the dependencies of operations from one database. */
export const buildDependencies = (database: Database, over: Partial<Dependencies> = {}): Dependencies => ({
  database,
  notifications: database,
  clock: manualClock('2026-06-01T00:00:00Z'),
  sealer: createSealer([Buffer.alloc(32, 7)]),
  endpointsPerAccount: 100,
  deleteMessages: async () => undefined,
  disableAfterMs: Number.POSITIVE_INFINITY,
  keptMs: Number.POSITIVE_INFINITY,
  longestPauseMs: 3_600_000,
  claimMs: { webhooks: 14_000, notifications: 14_000 },
  wake: () => undefined,
  ...over,
})

// Creates one logged event for each delivery. The events are one second apart, and the newest is created now.
const FILL = `
  WITH made AS MATERIALIZED (
    SELECT gen_random_uuid() AS event_id, gen_random_uuid() AS lead_reference, n FROM generate_series(1, $4::int) n
  ), counter AS (
    INSERT INTO event_counters AS c (account_id, last) VALUES ($1, $4)
    ON CONFLICT (account_id) DO UPDATE SET last = c.last + excluded.last RETURNING last
  ), event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, number, lead_version, fan_out, created_at)
    SELECT event_id, $1, 'key', lead_reference, '', last - $4::int + n, 1, 1, now() - ($4::int - n) * interval '1 second'
    FROM made CROSS JOIN counter
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at, created_at, updated_at)
  SELECT $1, event_id, $2, lead_reference, $3, CASE WHEN $3 IN ('delivered', 'exhausted') THEN 1 ELSE 0 END,
    CASE WHEN $3 IN ('pending', 'held') THEN '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 ms' END,
    now() - ($4::int - n) * interval '1 second', now() - ($4::int - n) * interval '1 second'
  FROM made ORDER BY n`

/** Opens the tables of webhooks without a running service. */
export const openTables = async () => {
  const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
  const ground = await createDatabase()
  await migrate(ground.url, migrations)
  const database = connectDatabase({ url: ground.url, poolSize: 4, lifecycle })
  /** Runs a statement without the time limit that the connections of a service have. */
  const runLong = async (text: string, values: unknown[] = []) => {
    const sql = new Client({ connectionString: ground.url })
    await sql.connect()
    await sql.query(text, values).finally(() => sql.end())
  }
  return {
    database,
    url: ground.url,
    endpoint: async (accountId: number, { enabled = true } = {}): Promise<number> => {
      const request = { accountId, url: 'http://127.0.0.1:1/', enabled }
      const made = await createWebhookEndpoint(buildDependencies(database), request)
      return made.endpoint!.id
    },
    /** Inserts deliveries of an endpoint with a status. */
    fill: (accountId: number, endpointId: number, status: string, count: number) =>
      runLong(FILL, [accountId, endpointId, status, count]),
    vacuum: () => runLong('VACUUM ANALYZE'),
    close: async () => {
      await lifecycle.stop()
      await ground.drop()
    },
  }
}

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

/** Counts the rows of tables and indexes that a plan has read. */
const countRows = (plan: Plan): number => {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + countRows(child), 0)
  return (plan['Relation Name'] ? own : 0) + below
}

type Work = (counted: Database) => Promise<unknown>

/** Adds up the costs of the statements of `work`. Measures each statement in a rolled-back savepoint. */
const measured = async (database: Database, work: Work, costOf: (plan: Plan) => number) => {
  let cost = 0
  const count = async (tx: OpenTransaction, { text, values = [] }: Query) => {
    if (!/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)/.test(text)) return
    tx.send({ text: 'SAVEPOINT counted' })
    const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Plan }] | string }>({
      text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      values,
    })
    tx.send({ text: 'ROLLBACK TO counted' })
    const plan = row!['QUERY PLAN']
    cost += costOf((typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan)
  }
  const inTransaction = async <T>(tx: OpenTransaction, inner: (tx: OpenTransaction) => Promise<T>) => {
    let sent: Promise<unknown> = Promise.resolve()
    const query = async <Row extends object>(each: Query) => {
      await sent
      await count(tx, each)
      return tx.query<Row>(each)
    }
    const send = (each: Query) => {
      sent = query(each)
    }
    const result = await inner({ query, send })
    await sent
    return result
  }
  await work({
    ...database,
    query: (each) => database.transaction((tx) => inTransaction(tx, (counted) => counted.query(each))),
    transaction: (inner) => database.transaction((tx) => inTransaction(tx, inner)),
  })
  return cost
}

export const rowsRead = (database: Database, work: Work) => measured(database, work, countRows)

/** Counts the pages of tables and indexes that `work` reads, including the pages of dead rows. */
export const pagesRead = (database: Database, work: Work) =>
  measured(database, work, (plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'])
