import { type ExecFileException, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { current, type Live } from '@leadwire/settings'
import { Client, type ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { databaseUnavailable } from './failure'

/** The server of a database. If `url` or `password` is a function, each new connection calls it. */
export interface DatabaseServer {
  url: Live<string>
  /** Replaces the password of the URL. */
  password?: (() => string | Promise<string>) | undefined
}

export interface DatabaseConfig {
  DATABASE_URL: string
  DATABASE_PASSWORD?: string | undefined
  DATABASE_PASSWORD_COMMAND?: readonly string[] | undefined
}

/** Returns the settings of a connection. Reads the certificate files that the URL names. */
export const clientConfig = ({ url, password }: DatabaseServer): ClientConfig & { pgbouncer?: string } => ({
  ...parseIntoClientConfig(current(url)),
  ...(password && { password }),
})

// The time limit of DATABASE_PASSWORD_COMMAND. It is longer than the wait for a connection (3 s), so that a
// repeated attempt to connect waits for the same run of the program.
const RUN_LIMIT_MS = 10_000

const describeExit = ({ code, killed, signal }: ExecFileException, timeout: number): string => {
  if (typeof code === 'number') return `exited with code ${code}`
  if (code) return `failed: ${code}`
  return killed ? `took longer than ${timeout} ms` : `was ended by ${signal}`
}

const runProgram = async ([program, ...args]: readonly string[], timeout: number): Promise<string> => {
  let why = 'printed nothing'
  try {
    const limits = { timeout, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 } as const
    const output = (await promisify(execFile)(program!, args, limits)).stdout.trimEnd()
    if (output) return output
  } catch (error) {
    // Does not pass the error on, because its arguments and output may contain the password.
    why = describeExit(error as ExecFileException, timeout)
  }
  throw databaseUnavailable(new Error(`DATABASE_PASSWORD_COMMAND ${why}`))
}

/** Describes the server that the settings name. */
export const databaseServer = (config: DatabaseConfig, runLimitMs = RUN_LIMIT_MS): DatabaseServer => {
  const { DATABASE_PASSWORD_COMMAND: command } = config
  let running: Promise<string> | undefined
  // Runs the program once for all connections that a pool opens at the same time.
  const run = (words: readonly string[]) => {
    running ??= runProgram(words, runLimitMs).finally(() => {
      running = undefined
    })
    return running
  }
  const password = command ? () => run(command) : () => config.DATABASE_PASSWORD!
  return {
    url: () => config.DATABASE_URL,
    ...((command ?? config.DATABASE_PASSWORD) && { password }),
  }
}

/** The settings of each connection to PostgreSQL. */
export const SETTINGS = [
  // The server ends a statement after 8 s, before the time limit of a request (10 s) is over.
  'statement_timeout = 8000',
  'idle_in_transaction_session_timeout = 30000',
  'lock_timeout = 0',
  // Statements and parsers rely on the settings from here to `bytea_output`. The server, database or role may
  // have other defaults.
  "default_transaction_isolation = 'read committed'",
  'default_transaction_read_only = off',
  "TimeZone = 'UTC'",
  "DateStyle = 'ISO, MDY'",
  "IntervalStyle = 'postgres'",
  'array_nulls = on',
  'extra_float_digits = 1',
  "bytea_output = 'hex'",
  // A prepared statement keeps its plan until PostgreSQL collects statistics again. A plan that was made for
  // a small table may read the whole table after the table has grown. The settings below prevent such plans.
  // With the settings, and with plans that were made for 60 leads, each statement reads no more pages when
  // there are 60,000 leads than when there are 12,000. Fewer settings do worse:
  //
  // - With only `plan_cache_mode`, 15 statements read more pages when there are 60,000 leads: up to 20,000
  //   pages each. With `enable_seqscan` in addition, 3 statements still do.
  // - Without `plan_cache_mode`, PostgreSQL plans a join of five tables for every short batch. The planning
  //   took three quarters of the time of a single read.
  // - Without `max_parallel_workers_per_gather`, PostgreSQL started parallel workers for ranges of 500 rows.
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'plan_cache_mode = force_generic_plan',
  'max_parallel_workers_per_gather = 0',
]

/** Writes settings as options of a connection. In an option, a backslash keeps a space within a value. */
export const writeOptions = (settings: string[]) =>
  settings
    .map((setting) => setting.replace(' = ', '=').replaceAll("'", '').replaceAll(' ', '\\ '))
    .map((setting) => `-c ${setting}`)
    .join(' ')

/** Writes settings as SET LOCAL statements, which apply to one transaction. */
export const writeSettings = (settings: string[]) =>
  settings.map((setting) => `; SET LOCAL ${setting}`).join('')

const silence = () => undefined

/**
 * Makes the class of a pool's connections. Each new connection reads the URL and its certificate files again,
 * because the files may be replaced while the service runs.
 */
export const createConnectionClass = (server: DatabaseServer, settings: ClientConfig): typeof Client => {
  let { ssl, user, password } = clientConfig(server)
  return class extends Client {
    constructor() {
      try {
        ;({ ssl, user, password } = clientConfig(server))
      } catch {
        // Uses the last content while a file cannot be read.
      }
      super({ ...settings, ssl, user, password } as ClientConfig)
    }

    override connect(): Promise<Client>
    override connect(done: (error: Error) => void): void
    override connect(done: (error: Error) => void = silence): unknown {
      return super.connect((error: Error) => {
        // Closes the socket, which would otherwise stay open if the password cannot be read.
        if (error) this.end(silence)
        done(error)
      })
    }
  }
}
