import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
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
import type { Ground } from '../process/ground'

/** What `npm start` tells scripts (design: One command to run). */
export type DevFile = {
  base_url: string
  assets_url: string
  token: string
  account: { id: number; api_key: string }
  services: Record<string, { pid: number; health: string }>
  pids: { postgres: number; nats: number }
  postgres_url: string
  nats_url: string
}

export type Stack = {
  /** The process that runs the others. */
  pid: number
  port: number
  dev: DevFile
  /** From the command to the first moment at which everything serves. */
  startedInMs: number
  /** dev.json as it is now: pids change when something is started again. */
  readDev(): Promise<DevFile>
  /** ENCRYPTION_KEYS of its services. */
  encryptionKeys: string
  /** How its services reach one of its databases, as a superuser. */
  database(name: string): string
  /** The last lines of its log that are more than information. */
  lastWarnings: string[]
}

/** A folder for state, gone after the run. PostgreSQL runs as another user for root, and must be able to pass. */
export async function temporaryFolder(ground: Ground): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-bench-'))
  await chmod(folder, 0o711)
  ground.onLeave(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Starts what `npm start` starts, on the given folder, and waits until it serves. `npm` also goes through npm and the
 * checks before the start, as a person's start does.
 */
export async function startStack({
  ground,
  folder,
  npm = false,
  args = [],
  env = {},
}: {
  ground: Ground
  folder: string
  npm?: boolean
  args?: string[]
  env?: Record<string, string>
}): Promise<Stack> {
  const data = join(folder, 'data')
  const port = await freePort()
  const [command, first] = npm
    ? ['npm', ['start', '--']]
    : [process.execPath, ['tools/embedded/dist/main.js']]
  const lastWarnings: string[] = []
  const startedAt = performance.now()
  const child = await startChild({
    ...{
      name: 'the stack',
      command,
      args: [...first, ...args],
      cwd: repositoryRoot,
      stopSignal: 'SIGINT',
      stopTimeoutMs: 40_000,
    },
    // With npm's own variable it stops by itself when its parent, this process, is killed. One account sends files on
    // all connections.
    env: {
      ...process.env,
      npm_lifecycle_event: 'start',
      LEADWIRE_DATA: data,
      PORT: String(port),
      ACCOUNT_MAX_UPLOADS: '1000',
      ...env,
    },
    onLine: (line) => {
      if (line.includes(' INFO ')) return
      lastWarnings.push(line)
      if (lastWarnings.length > 20) lastWarnings.shift()
    },
  })
  ground.onLeave(child.stop)
  const readDev = async () => JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevFile
  const serves = async () => {
    const { base_url, token } = await readDev()
    return token !== '' && isReady(base_url)
  }
  await whenReady(child, serves, { timeoutMs: 120_000 })
  const startedInMs = performance.now() - startedAt
  const dev = await readDev()
  const server = { dataDirectory: join(data, 'postgres'), port: Number(new URL(dev.postgres_url).port) }
  const database = (name: string) => localPostgresUrl(server, name)
  const encryptionKeys = readEncryptionKeys(data)
  return { pid: child.pid, port, dev, startedInMs, readDev, encryptionKeys, database, lastWarnings }
}
