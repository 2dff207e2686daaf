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
  /** The rows of one statement. Throws what PostgreSQL said as a ServiceError, or the DatabaseError itself for a broken constraint. */
  query<Row extends object>(query: Query): Promise<Row[]>
}

export interface OpenTransaction extends Transaction {
  /** Sends a statement whose rows nobody waits for; if it fails, so does the transaction. */
  send(query: Query): void
}

export interface Database extends Transaction {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. Statements travel as they are
   * sent, without waiting for the answers to those before; so does COMMIT behind what was sent last.
   */
  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** Runs `work` on one connection, each statement in a transaction of its own. */
  connection<T>(work: (connection: Transaction) => Promise<T>): Promise<T>
  /** Rejects while the database is unavailable. */
  check(): Promise<void>
  /** The same database for one caller: what begins after `signal` was aborted is refused with its reason. */
  until(signal: AbortSignal): Database
}

// int8 fits a JS number for every id we will ever give out; timestamps keep their microseconds as text, and json its
// text as it was stored, because a JS Date and a parsed object would both lose something.
const parsers = new TypeOverrides()
parsers.setTypeParser(types.builtins.INT8, Number)
parsers.setTypeParser(types.builtins.TIMESTAMPTZ, isoMicroseconds)
parsers.setTypeParser(types.builtins.JSON, (text) => text)

const silence = () => undefined

// Every statement here looks rows up by a key. A plan that PostgreSQL makes and keeps while a table is still empty reads
// the whole of it; seen under load on a new database: the join of leads and customers, kept from the first requests,
// took more than five seconds until statistics came a minute later. So plans that don't use the indexes are ruled out.
// One plan for all values, too: PostgreSQL would else plan a join of five tables anew for every short batch, because it
// takes the array of an unknown length for ten rows; measured, that was three quarters of a lone read's time.
// No parallel workers: for a range of unknown length in a table of 10^7 rows PostgreSQL starts two processes for each statement
// (seen: for 500 leads that were made searchable).
const BY_KEY =
  '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan -c max_parallel_workers_per_gather=0'

const LIMITS = '-c statement_timeout=8000 -c idle_in_transaction_session_timeout=30000'

// The server ends a statement after 8 s, below the 10 s of a request, and says so. A connection on which nothing came after
// 12 s is dead.
const ANSWER_LIMIT_MS = 12_000

// With a callback: a value that can't be sent fails it before this returns, and no COMMIT may then be sent behind it.
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

/** The rows of a statement, which is a span of the trace that is under way. Values are data, and no part of it. */
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
    // PostgreSQL answers a COMMIT behind a failed statement with a ROLLBACK, and calls it a success.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    // Without a connection there is nothing to roll back, and the first error is the one to tell.
    await rowsOf(client, { text: 'ROLLBACK' }).catch(silence)
    throw failure ?? error
  }
}

/** A kind of connection that reads the files that its URL names anew each time: they are replaced while the service runs. */
const connectionTo = (url: string, settings: ClientConfig) => {
  let { ssl } = parseIntoClientConfig(url)
  return class extends Client {
    constructor() {
      try {
        ssl = parseIntoClientConfig(url).ssl
      } catch {
        // What can't be read just then stays as it was. The connection says what is wrong with it.
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

// Idle connections to a server of which one connection was found dead, in all pools: each would else cost whoever finds it dead the time
// until it is known to be. Seen in webhook-service, where results have a pool of their own: webhooks of seconds were sent again.
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
  /** How long an answer may take before its connection is taken for dead. */
  answerLimitMs?: number
  /** PostgreSQL's settings of these connections, beside those that all have. */
  settings?: Record<string, string>
  /** Is given the pool, to tell of its use. */
  observe?: ((pool: Pool) => void) | undefined
}): Database => {
  const ofThese = Object.entries(options.settings ?? {}).map(([name, value]) => ` -c ${name}=${value}`)
  // Of a URL with options pg would take those alone.
  const { options: given = '', ...config } = parseIntoClientConfig(options.url)
  const settings = {
    ...config,
    options: `${given} -c TimeZone=UTC ${LIMITS} ${BY_KEY}${ofThese.join('')}`,
    query_timeout: options.answerLimitMs ?? ANSWER_LIMIT_MS,
    keepAlive: true,
    // Statements leave without waiting for the answers to those before.
    pipeline: true,
    types: parsers,
  }
  const pool = new Pool({
    Client: connectionTo(options.url, settings),
    max: options.poolSize,
    // For a connection that is free, or a new one.
    connectionTimeoutMillis: 3000,
    // They stay: a new one begins with a process of PostgreSQL's, and plans every statement anew.
    idleTimeoutMillis: 0,
  })
  // A connection that ends fails its statements, which tell; nobody else needs to hear of it.
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
