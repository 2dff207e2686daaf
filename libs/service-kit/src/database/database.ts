import { Client, type ClientConfig, Pool, type PoolClient, type QueryConfig, TypeOverrides, types } from 'pg'
import { Gauge } from 'prom-client'
import { ServiceError } from '../errors/service-error'
import type { Lifecycle } from '../process/lifecycle'
import type { Metrics } from '../process/metrics'
import { inSpan, SpanKind } from '../tracing/tracing'
import { databaseFailure, databaseUnavailable, isUnusable } from './failure'
import { clientConfig, type DatabaseServer } from './server'

/** A statement; with a `name` it is prepared once per connection. */
export type Query = QueryConfig<unknown[]>

export interface Transaction {
  /** The rows of one statement. Throws a ServiceError, or PostgreSQL's DatabaseError for a violated constraint. */
  query<Row extends object>(query: Query): Promise<Row[]>
}

export interface OpenTransaction extends Transaction {
  /** Sends a statement without waiting for it. If it fails, so does the transaction. */
  send(query: Query): void
}

export interface Database extends Transaction {
  /** Committed when `work` resolves, rolled back when it throws. Statements are pipelined, and so is COMMIT behind the last. */
  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** The same database for one caller: once `signal` has aborted, statements are rejected with its reason. */
  until(signal: AbortSignal): Database
  /** The same database with more settings such as `jit = off` in each transaction. Its plans differ: `name` sets its statements apart. */
  with(name: string, settings: string[]): Database
}

/** ISO 8601 with six digits: `2026-01-02 03:04:05.12+00` is `2026-01-02T03:04:05.120000Z`. */
export const isoMicroseconds = (text: string): string => {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text)
  if (!match) throw new TypeError(`"${text}" is no timestamp in UTC`)
  return `${match[1]}T${match[2]}.${(match[3] ?? '').padEnd(6, '0')}Z`
}

// Every int8 of ours fits a JS number. Timestamps stay text because a Date has no microseconds, and json stays as it was stored.
const parsers = new TypeOverrides()
parsers.setTypeParser(types.builtins.INT8, Number)
parsers.setTypeParser(types.builtins.TIMESTAMPTZ, isoMicroseconds)
parsers.setTypeParser(types.builtins.JSON, (text) => text)

const silence = () => undefined

const SETTINGS = [
  // The server ends a statement after 8 s, below the 10 s of a request.
  ...['statement_timeout = 8000', 'idle_in_transaction_session_timeout = 30000', "TimeZone = 'UTC'"],
  // A prepared statement keeps its plan until the next statistics: one made for a small table then reads all of a large one. With
  // plans made for 60 leads no statement reads more pages of 60,000 leads than of 12,000; with `plan_cache_mode` alone 15 do, up to
  // 20,000 pages each, and with `enable_seqscan` too, 3 do. Without `plan_cache_mode` a join of five tables is planned for every
  // short batch, which was three quarters of a lone read's time. Parallel workers were started for ranges of 500 rows.
  ...['enable_seqscan = off', 'enable_hashjoin = off', 'enable_mergejoin = off'],
  ...['plan_cache_mode = force_generic_plan', 'max_parallel_workers_per_gather = 0'],
]

// A connection without a response for so long is dead.
const ANSWER_LIMIT_MS = 12_000

const optionsOf = (settings: string[]) =>
  settings.map((setting) => `-c ${setting.replace(/[ ']/g, '')}`).join(' ')
const settingsOf = (settings: string[]) => settings.map((setting) => `; SET LOCAL ${setting}`).join('')
const BEGIN = 'BEGIN'
const COMMIT = { text: 'COMMIT' }

/** How the transactions of a `Database` begin, and what sets its prepared statements apart. */
type Kind = { begin: string; name?: string }

/** `onError` is called before this returns for a value that can not be sent: in time to send no COMMIT behind it. */
const rowsOf = <Row extends object>(
  client: Client,
  { name: kind }: Kind,
  query: Query,
  onError?: (error: unknown) => void,
): Promise<Row[]> => {
  const { name, text } = query
  const own = name && kind ? { ...query, name: `${name}-${kind}`, text: `${text} -- ${kind}` } : query
  const send = () =>
    new Promise<Row[]>((resolve, reject) => {
      client.query<Row>(own, (error: unknown, result) => {
        if (!error) return resolve(result.rows)
        onError?.(error)
        reject(error)
      })
    })
  const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text }
  return inSpan(name ?? text.slice(0, 20).split(';')[0]!, { kind: SpanKind.CLIENT, attributes }, send)
}

/** One statement; where it needs settings, in a transaction that is sent at once. */
const alone = async <Row extends object>(client: Client, kind: Kind, query: Query): Promise<Row[]> => {
  if (kind.begin === BEGIN) return rowsOf<Row>(client, kind, query)
  const all = [{ text: kind.begin }, query, COMMIT].map((each) => rowsOf<Row>(client, kind, each))
  return (await Promise.all(all))[1]!
}

const inTransaction = async <T>(
  client: Client,
  kind: Kind,
  work: (tx: OpenTransaction) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  let failure: unknown
  const run = <Row extends object>(query: Query): Promise<Row[]> => {
    signal?.throwIfAborted()
    const rows = rowsOf<Row>(client, kind, query, (error) => {
      failure ??= error
    })
    rows.catch(silence)
    return rows
  }
  try {
    run({ text: kind.begin })
    const result = await work({ query: async (query) => run(query), send: (query) => void run(query) })
    if (failure === undefined) await rowsOf(client, kind, COMMIT)
    // PostgreSQL reports success for a COMMIT behind a failed statement, though it rolls back.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    // Without a connection there is nothing to roll back.
    await rowsOf(client, kind, { text: 'ROLLBACK' }).catch(silence)
    // The first statement that failed is the cause, unless `work` says what it means.
    throw error instanceof ServiceError ? error : (failure ?? error)
  }
}

/** Connections that read their URL and its certificate files each time: files are replaced while the service runs. */
const connectionTo = (server: DatabaseServer, settings: ClientConfig) => {
  let { ssl, user, password } = clientConfig(server)
  return class extends Client {
    constructor() {
      try {
        ;({ ssl, user, password } = clientConfig(server))
      } catch {
        // While a file can't be read, its last content is used.
      }
      super({ ...settings, ssl, user, password } as ClientConfig)
    }

    override connect(): Promise<Client>
    override connect(done: (error: Error) => void): void
    override connect(done: (error: Error) => void = silence): unknown {
      return super.connect((error: Error) => {
        // Without a password the socket would stay open.
        if (error) this.end(silence)
        done(error)
      })
    }
  }
}

/** A database of which every statement and every transaction is part of `tx`. */
export const within = (tx: OpenTransaction): Database => ({
  query: tx.query,
  transaction: (work) => work(tx),
  until: () => within(tx),
  with: () => within(tx),
})

const pools = new Set<{ pool: Pool; server: string; name: string | undefined }>()

export const addPoolMetrics = (metrics: Metrics): void => {
  const add = (what: string, help: string, figureOf: (pool: Pool) => number) =>
    new Gauge({
      ...{ name: `leadwire_database_pool_${what}`, help, labelNames: ['pool'], registers: [metrics] },
      collect() {
        for (const { pool, name } of pools) if (name) this.set({ pool: name }, figureOf(pool))
      },
    })
  add('size', 'Connections that a pool may have.', ({ options }) => options.max)
  add(
    'in_use',
    'Connections of a pool that run a statement or a transaction.',
    ({ totalCount, idleCount }) => totalCount - idleCount,
  )
  add(
    'waiting',
    'Statements and transactions that wait for a connection of a pool.',
    ({ waitingCount }) => waitingCount,
  )
}

// The server's other idle connections are dead, too. Each would cost its next user the time until it is known to be.
const closeIdle = (dead: string): void => {
  for (const { pool, server } of pools)
    if (server === dead)
      for (let count = pool.idleCount; count > 0; count--)
        pool.connect().then((client) => client.release(true), silence)
}

/**
 * A pool of connections. Nothing connects until the first statement; a lost connection is replaced by itself.
 *
 * Settings are options of a connection. A pooler in transaction mode refuses those, and gives each transaction another session: with
 * `?pgbouncer=true` in the URL each transaction begins with them, which costs a fifth of a create's processor time.
 */
export const connectDatabase = (options: {
  url: DatabaseServer['url']
  password?: DatabaseServer['password']
  /** Of the pool in metrics. */
  name?: string
  poolSize: number
  lifecycle: Lifecycle
  /** After how long without a response a connection counts as dead. */
  answerLimitMs?: number
}): Database => {
  // pg would ignore these options where the URL has some.
  const { options: given = '', pgbouncer, ...config } = clientConfig(options)
  const isPooled = pgbouncer === 'true'
  const settings = {
    ...config,
    options: isPooled ? given : `${given} ${optionsOf(SETTINGS)}`,
    query_timeout: options.answerLimitMs ?? ANSWER_LIMIT_MS,
    keepAlive: true,
    pipeline: true,
    types: parsers,
  }
  const pool = new Pool({
    Client: connectionTo(options, settings),
    max: options.poolSize,
    // For a connection that is free, or a new one.
    connectionTimeoutMillis: 3000,
    // Connections stay open: a new one costs a process of PostgreSQL's, and plans all statements.
    idleTimeoutMillis: 0,
  })
  // A lost connection fails its statements.
  pool.on('connect', (client) => client.on('error', silence))
  pool.on('error', silence)
  const member = { pool, server: `${config.host}:${config.port}`, name: options.name }
  pools.add(member)
  options.lifecycle.onStop('database', () => {
    pools.delete(member)
    return pool.end()
  })

  const begin = BEGIN + settingsOf(isPooled ? SETTINGS : [])
  const databaseOf = (kind: Kind, signal?: AbortSignal): Database => {
    const withConnection = async <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
      signal?.throwIfAborted()
      const client = await pool.connect().catch((error) => {
        throw databaseUnavailable(error)
      })
      try {
        signal?.throwIfAborted()
        const result = await work(client)
        client.release()
        return result
      } catch (error) {
        const unusable = isUnusable(error)
        client.release(unusable)
        if (unusable) closeIdle(member.server)
        throw databaseFailure(error)
      }
    }
    return {
      query: (query) => withConnection((client) => alone(client, kind, query)),
      transaction: (work) => withConnection((client) => inTransaction(client, kind, work, signal)),
      until: (caller) => databaseOf(kind, caller),
      with: (name, more) => databaseOf({ begin: begin + settingsOf(more), name }, signal),
    }
  }
  return databaseOf({ begin })
}
