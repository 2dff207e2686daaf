import type { Socket } from 'node:net'
import { knex as createKnex, type Knex } from 'knex'
import { type Client, types } from 'pg'
import { databaseFailure } from './database-failure'
import { fly, type Query } from './flight'
import { isoMicroseconds } from './iso-microseconds'
import type { Lifecycle } from './lifecycle'
import { ServiceError } from './service-error'

export type { Query } from './flight'

export interface Transaction {
  /** The rows of one statement. Throws what PostgreSQL said as a ServiceError, or the DatabaseError itself for a broken constraint. */
  query<Row extends object>(query: Query): Promise<Row[]>
}

export interface OpenTransaction extends Transaction {
  /** Has a statement done whose rows nobody waits for. It travels with the next one; if it fails, so does the transaction. */
  send(query: Query): void
  /**
   * Has a statement done and commits: both travel together, so that nothing is locked while this process thinks. The
   * rows tell of what is committed, and nothing may be asked behind them; what is thrown behind them is `internal`.
   */
  finish<Row extends object>(query: Query): Promise<Row[]>
}

/** A connection that its owner keeps until it is released, and with it what belongs to a session: locks and settings. */
export interface HeldConnection extends Transaction {
  /** Resolves with why when the connection is gone. */
  lost: Promise<Error>
  /** Gives it to others, who find it as its owner left it. */
  release(): Promise<void>
  /** Closes it: nobody may find it as it is. */
  discard(): Promise<void>
}

export interface Database extends Transaction {
  /**
   * Runs `work` in one transaction: committed when it resolves or finishes, rolled back when it throws before. BEGIN travels
   * with the first statement, and COMMIT with those that were sent last.
   */
  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T>
  /** Takes a connection out of the pool. Rejects while the database is away or all connections are taken. */
  hold(): Promise<HeldConnection>
  /** For what is better built than written: filters, and the migrations. */
  knex: Knex
  /** Rejects while the database is away. */
  check(): Promise<void>
}

const { builtins } = types

// int8 fits a JS number for every id we will ever give out; timestamps keep their microseconds as text, and json its
// text as it was stored, because a JS Date and a parsed object would both lose something.
const PARSERS: Record<number, (text: string) => unknown> = {
  [builtins.INT8]: Number,
  [builtins.TIMESTAMPTZ]: isoMicroseconds,
  [builtins.JSON]: (text) => text,
}

const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS[oid]) || types.getTypeParser(oid, format as 'text'),
}

const silence = () => undefined
const SILENT = { error: silence, warn: silence, deprecate: silence, debug: silence }

// Every statement here looks rows up by a key. A plan that PostgreSQL makes and keeps while a table is still empty reads
// the whole of it; seen under load on a new database: the join of leads and customers, kept from the first requests,
// took more than five seconds until statistics came a minute later. So plans that don't use the indexes are ruled out.
// One plan for all values, too: PostgreSQL would else plan a join of five tables anew for every short batch, because it
// takes the array of an unknown length for ten rows; measured, that was three quarters of a lone read's time.
const BY_KEY =
  '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan'

const LIMITS = '-c statement_timeout=15000 -c idle_in_transaction_session_timeout=30000'

// The server ends a statement after 15 s and says so: who hears nothing after 20 is connected to nobody.
const ANSWER_LIMIT_MS = 20_000

type Fly = <Row extends object>(client: Client, statements: Query[], askedAt?: number) => Promise<Row[]>

const socketOf = (client: Client) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

const BEGIN = { name: 'begin', text: 'BEGIN' }
const COMMIT = { name: 'commit', text: 'COMMIT' }
const ROLLBACK = { text: 'ROLLBACK' }

const inTransaction = async <T>(
  client: Client,
  rowsOf: Fly,
  work: (tx: OpenTransaction) => Promise<T>,
): Promise<T> => {
  let waiting: Query[] = [BEGIN]
  let begun = false
  let failed = false
  let failure: unknown
  let committed = false
  const mustBeOpen = () => {
    if (committed) throw new Error('the transaction is over')
  }
  const flyWith = async <Row extends object>(query: Query, ...behind: Query[]) => {
    mustBeOpen()
    const before = waiting
    waiting = []
    begun ||= before[0] === BEGIN
    try {
      return await rowsOf<Row>(client, [...before, query, ...behind], before.length)
    } catch (error) {
      if (!failed) failure = error
      failed = true
      throw error
    }
  }
  const finish = async <Row extends object>(query: Query) => {
    // A statement on its own is a transaction, without two that say so.
    const isAll = waiting.length === 1 && waiting[0] === BEGIN
    if (isAll) waiting = []
    const rows = await flyWith<Row>(query, ...(isAll ? [] : [COMMIT]))
    committed = true
    return rows
  }
  try {
    const result = await work({
      query: (query) => flyWith(query),
      send: (query) => {
        mustBeOpen()
        waiting.push(query)
      },
      finish,
    })
    // PostgreSQL would answer this COMMIT with a ROLLBACK, and call it a success.
    if (failed) throw failure
    if (!committed) await flyWith(COMMIT)
    return result
  } catch (error) {
    // Not as what it is: it would be taken for a transaction that failed, and the work be done again.
    if (committed) throw new ServiceError('internal', 'Something went wrong on our side.', { cause: error })
    // Without a connection there is nothing to roll back, and the first error is the one to tell.
    if (begun) await rowsOf(client, [ROLLBACK]).catch(silence)
    throw failed ? failure : error
  }
}

/** A pool of connections. Nothing connects until the first statement; a lost connection is replaced by itself. */
export const connectDatabase = (options: {
  url: string
  poolSize: number
  lifecycle: Lifecycle
  /** How long an answer may take before its connection is taken for dead. */
  answerLimitMs?: number
}): Database => {
  const rowsOf: Fly = (client, statements, askedAt) =>
    fly(client, statements, {
      askedAt,
      parserOf: typeParsers.getTypeParser,
      limitMs: options.answerLimitMs ?? ANSWER_LIMIT_MS,
    })
  const knex = createKnex({
    client: 'pg',
    connection: {
      connectionString: options.url,
      options: `-c TimeZone=UTC ${LIMITS} ${BY_KEY}`,
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      types: typeParsers,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: options.poolSize, idleTimeoutMillis: 60_000, propagateCreateError: true },
    acquireConnectionTimeout: 3000,
    // It would write plain text to standard output; whatever fails is thrown to a caller who logs it.
    log: SILENT,
  })
  options.lifecycle.onStop('database', () => knex.destroy())

  const withConnection = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    let client: Client | undefined
    try {
      client = (await knex.client.acquireConnection()) as Client
      return await work(client)
    } catch (error) {
      throw databaseFailure(error)
    } finally {
      if (client) await knex.client.releaseConnection(client)
    }
  }

  const hold = async (): Promise<HeldConnection> => {
    const client = await (knex.client.acquireConnection() as Promise<Client>).catch((error: unknown) => {
      throw databaseFailure(error)
    })
    let tell: () => void = silence
    const lost = new Promise<Error>((resolve) => {
      tell = () => resolve(new Error('the connection to the database ended'))
    })
    client.once('end', tell)
    const release = async () => {
      client.off('end', tell)
      await knex.client.releaseConnection(client)
    }
    return {
      lost,
      query: (query) =>
        rowsOf<never>(client, [query]).catch((error: unknown) => {
          throw databaseFailure(error)
        }),
      release,
      discard: async () => {
        // A polite end would wait for a server that may be gone.
        socketOf(client).destroy()
        await lost
        await release()
      },
    }
  }

  return {
    knex,
    hold,
    query: (query) => withConnection((client) => rowsOf(client, [query])),
    transaction: (work) => withConnection((client) => inTransaction(client, rowsOf, work)),
    check: () => withConnection(async (client) => void (await rowsOf(client, [{ text: 'SELECT 1' }]))),
  }
}
