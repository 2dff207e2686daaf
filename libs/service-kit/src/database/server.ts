import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { current, type Live } from '@leadwire/settings'
import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { ServiceError } from '../errors/service-error'

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
const RUN_LIMITS = { timeout: 10_000, maxBuffer: 64 * 1024 }

const outputOf = async ([program, ...args]: readonly string[]): Promise<string> => {
  try {
    return (await promisify(execFile)(program!, args, RUN_LIMITS)).stdout.trimEnd()
  } catch (error) {
    // The error itself has the output.
    const cause = new Error((error as Error).message)
    throw new ServiceError('unavailable', 'The database is unavailable for a moment. Try again shortly.', {
      cause,
    })
  }
}

export const databaseServer = (config: DatabaseConfig): DatabaseServer => {
  const { DATABASE_PASSWORD_COMMAND: command } = config
  let running: Promise<string> | undefined
  // A pool opens several connections at once.
  const run = (words: readonly string[]) => {
    running ??= outputOf(words).finally(() => {
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
