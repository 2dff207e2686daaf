import { Client, type ClientConfig, Pool, type PoolClient, TypeOverrides, types } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { Lifecycle } from '../process/lifecycle'
import { inSpan, isTraced, SpanKind } from '../tracing/tracing'
import { databaseFailure, isUnusable } from './failure'
import { isoMicroseconds } from './iso-microseconds'

/** A statement; with a `name` it is prepared once per connection. */
export interface Query {
  name?: string
  text: string
  values?: unknown[]
}

export interface Transaction {
  /** The rows of one statement. Throws a ServiceError, or PostgreSQL's DatabaseError for a violated constraint. */
  query<Row extends object>(query: Query): Promise<Row[]>
}

export interface OpenTransaction extends Transaction {
  /** Sends a statement without waiting for it. If it fails, so does the transaction. */
  send(query: Query): void
}

export interface Database extends Transaction {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. Statements are pipelined, and so is
   * COMMIT behind the last.
   */
  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** Runs `work` on one connection, each statement in a transaction of its own. */
  connection<T>(work: (connection: Transaction) => Promise<T>): Promise<T>
  /** Rejects while the database is unavailable. */
  check(): Promise<void>
  /** The same database for one caller: once `signal` has aborted, statements are rejected with its reason. */
  until(signal: AbortSignal): Database
}

// Every int8 of ours fits a JS number. Timestamps stay text because a Date has no microseconds, and json stays as it was stored.
const parsers = new TypeOverrides()
parsers.setTypeParser(types.builtins.INT8, Number)
parsers.setTypeParser(types.builtins.TIMESTAMPTZ, isoMicroseconds)
parsers.setTypeParser(types.builtins.JSON, (text) => text)

const silence = () => undefined

// Statements are prepared, and find rows by a key. PostgreSQL keeps the plan of a prepared statement until the next statistics:
// one that it made for a small table then reads all of a large one. Measured with plans made for 60 leads, by the pages that
// statements read of 12,000 and of 60,000 leads: with these settings none reads more, with `plan_cache_mode` alone 15 do, up to
// 20,000 pages each, and with `enable_seqscan` too, 3 do. Without `plan_cache_mode` a join of five tables is planned for every short batch, which was three
// quarters of a lone read's time. Parallel workers were started for ranges of 500 rows.
const BY_KEY =
  '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan -c max_parallel_workers_per_gather=0'

const LIMITS = '-c statement_timeout=8000 -c idle_in_transaction_session_timeout=30000'

// The server ends a statement after 8 s, below the 10 s of a request. A connection without a response after 12 s is dead.
const ANSWER_LIMIT_MS = 12_000

// With a callback: it gets the error of a value that can't be sent before this returns, in time to send no COMMIT behind it.
const send = <Row extends object>(
  client: Client,
  query: Query,
  onError?: (error: unknown) => void,
): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    client.query<Row>(query, (error: unknown, result) => {
      if (!error) return resolve(result.rows)
      onError?.(error)
      reject(error)
    })
  })

/** Runs a statement as a span of the active trace, without its values, which are data. */
const rowsOf = <Row extends object>(
  client: Client,
  query: Query,
  onError?: (error: unknown) => void,
): Promise<Row[]> => {
  if (!isTraced()) return send(client, query, onError)
  const attributes = { 'db.system.name': 'postgresql', 'db.query.text': query.text }
  const options = { kind: SpanKind.CLIENT, attributes }
  return inSpan(query.name ?? query.text.slice(0, 20), options, () => send(client, query, onError))
}

const inTransaction = async <T>(
  client: Client,
  work: (tx: OpenTransaction) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  let failure: unknown
  const run = <Row extends object>(query: Query): Promise<Row[]> => {
    signal?.throwIfAborted()
    const rows = rowsOf<Row>(client, query, (error) => {
      failure ??= error
    })
    rows.catch(silence)
    return rows
  }
  try {
    run({ text: 'BEGIN' })
    const result = await work({ query: async (query) => run(query), send: (query) => void run(query) })
    if (failure === undefined) await rowsOf(client, { text: 'COMMIT' })
    // PostgreSQL reports success for a COMMIT behind a failed statement, though it rolls back.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    // Without a connection there is nothing to roll back; the first error is thrown.
    await rowsOf(client, { text: 'ROLLBACK' }).catch(silence)
    throw failure ?? error
  }
}

/** Connections that read the certificate files of their URL each time: files are replaced while the service runs. */
const connectionTo = (url: string, settings: ClientConfig) => {
  let { ssl } = parseIntoClientConfig(url)
  return class extends Client {
    constructor() {
      try {
        ssl = parseIntoClientConfig(url).ssl
      } catch {
        // While a file can't be read, its last content is used.
      }
      super({ ...settings, ssl })
    }
  }
}

/** A database of which every statement and every transaction is part of `tx`. */
export const within = (tx: OpenTransaction): Database => ({
  query: tx.query,
  transaction: (work) => work(tx),
  connection: (work) => work(tx),
  check: async () => void (await tx.query({ text: 'SELECT 1' })),
  until: () => within(tx),
})

/** The pools of this process. */
const pools = new Set<{ pool: Pool; server: string }>()

// One dead connection means that the server's other idle connections are dead, too. Each would cost its next user the time until
// it is known to be; in webhook-service seconds of webhooks were sent again.
const closeIdle = (dead: string): void => {
  for (const { pool, server } of pools)
    if (server === dead)
      for (let count = pool.idleCount; count > 0; count--)
        pool.connect().then((client) => client.release(true), silence)
}

/** A pool of connections. Nothing connects until the first statement; a lost connection is replaced by itself. */
export const connectDatabase = (options: {
  url: string
  poolSize: number
  lifecycle: Lifecycle
  /** After how long without a response a connection counts as dead. */
  answerLimitMs?: number
  /** More settings of PostgreSQL for these connections. */
  settings?: Record<string, string>
  observe?: ((pool: Pool) => void) | undefined
}): Database => {
  const ofThese = Object.entries(options.settings ?? {}).map(([name, value]) => ` -c ${name}=${value}`)
  // pg would ignore these options where the URL has some.
  const { options: given = '', ...config } = parseIntoClientConfig(options.url)
  const settings = {
    ...config,
    options: `${given} -c TimeZone=UTC ${LIMITS} ${BY_KEY}${ofThese.join('')}`,
    query_timeout: options.answerLimitMs ?? ANSWER_LIMIT_MS,
    keepAlive: true,
    pipeline: true,
    types: parsers,
  }
  const pool = new Pool({
    Client: connectionTo(options.url, settings),
    max: options.poolSize,
    // For a connection that is free, or a new one.
    connectionTimeoutMillis: 3000,
    // Connections stay open: a new one costs a process of PostgreSQL's, and plans all statements.
    idleTimeoutMillis: 0,
  })
  // A lost connection fails its statements; the event says no more.
  pool.on('connect', (client) => client.on('error', silence))
  pool.on('error', silence)
  options.observe?.(pool)
  const member = { pool, server: `${config.host}:${config.port}` }
  pools.add(member)
  options.lifecycle.onStop('database', () => {
    pools.delete(member)
    return pool.end()
  })

  const withConnection = async <T>(
    work: (client: PoolClient) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    signal?.throwIfAborted()
    const client = await pool.connect().catch((error) => {
      throw databaseFailure(error)
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

  const forCaller = (signal: AbortSignal | undefined): Database => ({
    query: (query) => withConnection((client) => rowsOf(client, query), signal),
    connection: (work) =>
      withConnection((client) => work({ query: (query) => rowsOf(client, query) }), signal),
    transaction: (work) => withConnection((client) => inTransaction(client, work, signal), signal),
    check: () => withConnection(async (client) => void (await rowsOf(client, { text: 'SELECT 1' })), signal),
    until: forCaller,
  })
  return forCaller(undefined)
}
