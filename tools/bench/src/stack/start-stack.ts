import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, localPostgresUrl, poll, repositoryRoot } from '@leadwire/embedded'
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
  /** How its services reach one of its databases, as a superuser. */
  database(name: string): string
  lastWarnings(): Promise<string>
  stop(): Promise<void>
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
  env = {},
}: {
  ground: Ground
  folder: string
  npm?: boolean
  env?: Record<string, string>
}): Promise<Stack> {
  const data = join(folder, 'data')
  const logFile = join(folder, 'stack.log')
  const port = await freePort()
  const output = await open(logFile, 'a')
  const [command, args] = npm ? ['npm', ['start']] : [process.execPath, ['tools/embedded/dist/main.js']]
  const startedAt = performance.now()
  const child = spawn(command, args, {
    cwd: repositoryRoot,
    // With npm's own variable it stops by itself when its parent, this process, is killed.
    env: {
      ...process.env,
      npm_lifecycle_event: 'start',
      LEADWIRE_DATA: data,
      PORT: String(port),
      // One account sends files on all connections.
      ACCOUNT_MAX_UPLOADS: '1000',
      ...env,
    },
    // Out of reach of the terminal's Ctrl-C: it is stopped in order, after the load.
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  })
  await once(child, 'spawn')
  await output.close()
  const exited = once(child, 'exit')
  const readDev = async () => JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevFile
  const lastWarnings = async () => {
    const { stdout } = await promisify(execFile)('tail', ['-n', '5000', logFile], { maxBuffer: 2 ** 26 })
    return stdout
      .split('\n')
      .filter((line) => !line.includes(' INFO '))
      .slice(-20)
      .join('\n')
  }
  const stop = ground.onLeave(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGINT')
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 40_000)
    await exited
    clearTimeout(timer)
  })

  await poll(
    async () => {
      if (child.exitCode !== null) throw new Error('it ended')
      return isReady(port, await readDev())
    },
    { what: 'the stack to serve', timeoutMs: 120_000, everyMs: 20 },
  ).catch(async (error: Error) => {
    await stop()
    throw new Error(`${error.message}\n${await lastWarnings()}`)
  })
  const startedInMs = performance.now() - startedAt
  const dev = await readDev()
  const server = { dataDirectory: join(data, 'postgres'), port: Number(new URL(dev.postgres_url).port) }
  const database = (name: string) => localPostgresUrl(server, name)
  return { pid: child.pid!, port, dev, startedInMs, readDev, database, lastWarnings, stop }
}

async function isReady(port: number, dev: DevFile): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  await answer.body?.cancel()
  return answer.status === 200 && dev.token !== ''
}
