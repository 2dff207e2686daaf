import { type ExecFileException, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { current, type Live } from '@leadwire/settings'
import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { databaseUnavailable } from './failure'

/** What is asked for each new connection. */
export interface DatabaseServer {
  url: Live<string>
  /** In place of that of the URL. */
  password?: (() => string | Promise<string>) | undefined
}

export interface DatabaseConfig {
  DATABASE_URL: string
  DATABASE_PASSWORD?: string | undefined
  DATABASE_PASSWORD_COMMAND?: readonly string[] | undefined
}

/** Reads the files that the URL names. */
export const clientConfig = ({ url, password }: DatabaseServer): ClientConfig & { pgbouncer?: string } => ({
  ...parseIntoClientConfig(current(url)),
  ...(password && { password }),
})

// Longer than a connection may take to open: the next one waits for the same run.
const RUN_LIMIT_MS = 10_000

const failureOf = ({ code, killed, signal }: ExecFileException, timeout: number): string => {
  if (typeof code === 'number') return `exited with code ${code}`
  if (code) return `failed: ${code}`
  return killed ? `took longer than ${timeout} ms` : `was ended by ${signal}`
}

const outputOf = async ([program, ...args]: readonly string[], timeout: number): Promise<string> => {
  let why = 'printed nothing'
  try {
    const limits = { timeout, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 } as const
    const output = (await promisify(execFile)(program!, args, limits)).stdout.trimEnd()
    if (output) return output
  } catch (error) {
    // The error itself has arguments and output, which may hold the password.
    why = failureOf(error as ExecFileException, timeout)
  }
  throw databaseUnavailable(new Error(`DATABASE_PASSWORD_COMMAND ${why}`))
}

export const databaseServer = (config: DatabaseConfig, runLimitMs = RUN_LIMIT_MS): DatabaseServer => {
  const { DATABASE_PASSWORD_COMMAND: command } = config
  let running: Promise<string> | undefined
  // A pool opens several connections at once.
  const run = (words: readonly string[]) => {
    running ??= outputOf(words, runLimitMs).finally(() => {
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
