import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  freePort,
  isReady,
  localPostgresUrl,
  repositoryRoot,
  startChild,
  whenReady,
} from '@leadwire/embedded'
import { readEncryptionKeys } from '@leadwire/fill'
import type { Cleanups } from '../process/cleanups'

/**
 * The part of dev.json that the benchmark reads. `npm start` writes this file to describe the running stack.
 */
export interface DevFile {
  base_url: string
  assets_url: string
  token: string
  services: Record<string, { pid: number }>
  pids: { postgres: number; nats: number }
  postgres_url: string
  nats_url: string
}

export interface Stack {
  /** The process that runs all others. */
  pid: number
  port: number
  dev: DevFile
  /** Milliseconds from the command until the stack was ready. */
  startedInMs: number
  /** Reads dev.json again. Process ids change when a service is restarted. */
  readDev(): Promise<DevFile>
  /** The setting ENCRYPTION_KEYS of the services. */
  encryptionKeys: string
  /** Returns the connection string of a database, for a superuser. */
  databaseUrl(name: string): string
  /** The last 20 log lines that are more serious than INFO. */
  lastWarnings: string[]
}

/** Starts the stack of `npm start` in a folder, and waits until it is ready. */
export const startStack = async ({
  cleanups,
  folder,
  throughNpm = false,
  env = {},
}: {
  cleanups: Cleanups
  folder: string
  /** Whether to run `npm start` itself, which includes the checks before the start. */
  throughNpm?: boolean
  env?: Record<string, string>
}): Promise<Stack> => {
  const data = join(folder, 'data')
  const port = await freePort()
  const lastWarnings: string[] = []
  const startedAt = performance.now()
  const child = await startChild({
    name: 'the stack',
    command: throughNpm ? 'npm' : process.execPath,
    args: throughNpm ? ['start'] : ['tools/embedded/dist/main.js'],
    cwd: repositoryRoot,
    stopSignal: 'SIGINT',
    stopTimeoutMs: 40_000,
    env: {
      ...process.env,
      // With this variable of npm, the stack stops when its parent (this process) is killed.
      npm_lifecycle_event: 'start',
      LEADWIRE_DATA: data,
      PORT: String(port),
      // Raises the limit, because one account uploads on all connections.
      ACCOUNT_MAX_UPLOADS: '1000',
      ...env,
    },
    onLine: (line) => {
      if (line.includes(' INFO ')) return
      lastWarnings.push(line)
      if (lastWarnings.length > 20) lastWarnings.shift()
    },
  })
  cleanups.add(child.stop)
  const readDev = async () => JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevFile
  const isServing = async () => {
    const { base_url, token } = await readDev()
    return token !== '' && isReady(base_url)
  }
  await whenReady(child, isServing, { timeoutMs: 120_000 })
  const startedInMs = performance.now() - startedAt
  const dev = await readDev()
  const server = { dataDirectory: join(data, 'postgres'), port: Number(new URL(dev.postgres_url).port) }
  return {
    pid: child.pid,
    port,
    dev,
    startedInMs,
    readDev,
    encryptionKeys: readEncryptionKeys(data),
    databaseUrl: (name) => localPostgresUrl(server, name),
    lastWarnings,
  }
}
