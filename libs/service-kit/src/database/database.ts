import { type Client, Pool, type PoolClient, type QueryConfig } from 'pg'
import { Gauge } from 'prom-client'
import { ServiceError } from '../errors/service-error'
import type { Lifecycle } from '../process/lifecycle'
import type { Metrics } from '../process/metrics'
import { inSpan, SpanKind } from '../tracing/tracing'
import { databaseFailure, databaseUnavailable, isUnusable } from './failure'
import { parsers } from './parsers'
import {
  clientConfig,
  createConnectionClass,
  type DatabaseServer,
  SETTINGS,
  writeOptions,
  writeSettings,
} from './server'

/** A statement. Each connection prepares a statement with a `name` once. */
export type Query = QueryConfig<unknown[]>

export interface Transaction {
  /**
   * Runs one statement and resolves with its rows. Throws a ServiceError, or PostgreSQL's DatabaseError for
   * a violated constraint.
   */
  query<Row extends object>(query: Query): Promise<Row[]>
}

export interface OpenTransaction extends Transaction {
  /** Sends a statement without waiting for its result. If the statement fails, the transaction fails. */
  send(query: Query): void
}

export interface Database extends Transaction {
  /**
   * Runs `work` in a transaction, which commits when `work` resolves and rolls back when `work` throws.
   * Statements are pipelined, and COMMIT is pipelined behind the last of them. To send COMMIT without waiting
   * for the rows of the last statements, let `work` resolve with an object that holds the promises of these
   * rows. The promises have settled when the transaction resolves.
   */
  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /**
   * Returns a view of the database for one caller. Once `signal` has aborted, statements are rejected with
   * the signal's reason.
   */
  until(signal: AbortSignal): Database
  /**
   * Returns a view of the database with additional settings in each transaction, such as `jit = off`.
   * `name` distinguishes the prepared statements of the view, because their plans differ.
   */
  with(name: string, settings: string[]): Database
}

const silence = () => undefined

/** A connection without a response for this long counts as dead. */
const ANSWER_LIMIT_MS = 12_000

// Spelt out, because the session of a pooler may have another default.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'
const COMMIT = { text: 'COMMIT' }

/**
 * The statement that begins the transactions of a `Database`, and the name that distinguishes the prepared
 * statements of the `Database`.
 */
type Kind = { begin: string; name?: string }

/**
 * Buffers writes to a connection until the current tick ends, so that the statements that a transaction
 * pipelines take one system call. One system call for each statement took half of the processor time that a
 * service spends on its database.
 */
const writeTogether = ({ connection }: Client): void => {
  connection.stream.cork()
  process.nextTick(() => connection.stream.uncork())
}

/**
 * Sends a statement and resolves with its rows. Calls `onError` if the statement fails. If a value cannot be
 * encoded, `onError` is called before this function returns, so that no COMMIT is sent behind the statement.
 */
const sendQuery = <Row extends object>(
  client: Client,
  { name: kind }: Kind,
  query: Query,
  onError?: (error: unknown) => void,
): Promise<Row[]> => {
  const { name, text } = query
  const own = name && kind ? { ...query, name: `${name}-${kind}`, text: `${text} -- ${kind}` } : query
  const send = () =>
    new Promise<Row[]>((resolve, reject) => {
      writeTogether(client)
      client.query<Row>(own, (error: unknown, result) => {
        if (!error) return resolve(result.rows)
        onError?.(error)
        reject(error)
      })
    })
  const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text }
  return inSpan(name ?? text.slice(0, 20).split(';')[0]!, { kind: SpanKind.CLIENT, attributes }, send)
}

/** Runs one statement. If it needs settings, sends it inside a transaction that sets them. */
const runAlone = async <Row extends object>(client: Client, kind: Kind, query: Query): Promise<Row[]> => {
  if (kind.begin === BEGIN) return sendQuery<Row>(client, kind, query)
  const all = [{ text: kind.begin }, query, COMMIT].map((each) => sendQuery<Row>(client, kind, each))
  return (await Promise.all(all))[1]!
}

const runTransaction = async <T>(
  client: Client,
  kind: Kind,
  work: (tx: OpenTransaction) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  let failure: unknown
  const run = <Row extends object>(query: Query): Promise<Row[]> => {
    signal?.throwIfAborted()
    const rows = sendQuery<Row>(client, kind, query, (error) => {
      failure ??= error
    })
    rows.catch(silence)
    return rows
  }
  try {
    run({ text: kind.begin })
    const result = await work({ query: run, send: (query) => void run(query) })
    if (failure === undefined) await sendQuery(client, kind, COMMIT)
    // PostgreSQL reports success for a COMMIT behind a failed statement, although it rolls back.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    // Ignores an error, because a lost connection has nothing to roll back.
    await sendQuery(client, kind, { text: 'ROLLBACK' }).catch(silence)
    // Throws the error of the first failed statement, unless `work` threw a ServiceError, which explains the
    // failure better.
    throw error instanceof ServiceError ? error : (failure ?? error)
  }
}

/** Returns a database whose statements and transactions all run inside `tx`. */
export const within = (tx: OpenTransaction): Database => ({
  query: tx.query,
  transaction: (work) => work(tx),
  until: () => within(tx),
  with: () => within(tx),
})

const pools = new Set<{ pool: Pool; server: string; name: string | undefined }>()

export const addPoolMetrics = (metrics: Metrics): void => {
  const add = (what: string, help: string, readFigure: (pool: Pool) => number) =>
    new Gauge({
      name: `leadwire_database_pool_${what}`,
      help,
      labelNames: ['pool'],
      registers: [metrics],
      collect() {
        for (const { pool, name } of pools) if (name) this.set({ pool: name }, readFigure(pool))
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

// Called when a connection is dead. Closes the idle connections to the same server, because they are dead
// too. Otherwise the next statement on each of them would wait until its connection counts as dead.
const closeIdle = (dead: string): void => {
  for (const { pool, server } of pools)
    if (server === dead)
      for (let count = pool.idleCount; count > 0; count--)
        pool.connect().then((client) => client.release(true), silence)
}

/**
 * Makes a pool of connections. It connects with the first statement and replaces lost connections. A
 * statement or transaction waits up to 3 s for a connection, in order of arrival.
 *
 * Each connection passes `SETTINGS` as options when it connects. A pooler in transaction mode refuses such
 * options, and may run each transaction in another session. With `?pgbouncer=true` in the URL, each
 * transaction therefore sets `SETTINGS` when it begins. This takes a fifth of the processor time that it
 * takes to create a lead.
 */
export const connectDatabase = (options: {
  url: DatabaseServer['url']
  password?: DatabaseServer['password']
  /** The name of the pool in metrics. */
  name?: string
  poolSize: number
  lifecycle: Lifecycle
  /** A connection without a response for this long counts as dead. */
  answerLimitMs?: number
}): Database => {
  // Joins our options with the options in the URL. pg would otherwise ignore ours if the URL has options.
  const { options: given = '', pgbouncer, ...config } = clientConfig(options)
  const isPooled = pgbouncer === 'true'
  const settings = {
    ...config,
    options: isPooled ? given : `${given} ${writeOptions(SETTINGS)}`,
    query_timeout: options.answerLimitMs ?? ANSWER_LIMIT_MS,
    keepAlive: true,
    pipeline: true,
    types: parsers,
  }
  const pool = new Pool({
    Client: createConnectionClass(options, settings),
    max: options.poolSize,
    // How long a transaction waits for a connection.
    connectionTimeoutMillis: 3000,
    // Connections stay open, because a new connection starts a process of PostgreSQL, and plans all
    // statements again.
    idleTimeoutMillis: 0,
  })
  // Errors of a connection are ignored here, because its statements report them.
  pool.on('connect', (client) => client.on('error', silence))
  pool.on('error', silence)
  const member = { pool, server: `${config.host}:${config.port}`, name: options.name }
  pools.add(member)
  options.lifecycle.onStop('database', () => {
    pools.delete(member)
    return pool.end()
  })

  const begin = BEGIN + writeSettings(isPooled ? SETTINGS : [])
  const createView = (kind: Kind, signal?: AbortSignal): Database => {
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
      query: (query) => withConnection((client) => runAlone(client, kind, query)),
      transaction: (work) => withConnection((client) => runTransaction(client, kind, work, signal)),
      until: (caller) => createView(kind, caller),
      with: (name, more) => createView({ begin: begin + writeSettings(more), name }, signal),
    }
  }
  return createView({ begin })
}
