import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isReady, repositoryRoot, startChild, whenReady } from '@leadwire/embedded'
import type { Ground } from './ground'

/** The part of dev.json that this program reads. */
interface DevFile {
  base_url: string
  token: string
  account: { id: number }
  services: Record<string, { pid: number; health: string }>
  pids: Record<string, number>
  postgres_url: string
}

export type Stack = Awaited<ReturnType<typeof startStack>>

/**
 * Starts the stack of `npm start` with a temporary data folder, and waits until it serves requests. `stop`
 * also removes the folder.
 */
export const startStack = async (env: Record<string, string>) => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-crash-test-'))
  // When root runs the test, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  const data = join(folder, 'data')
  const lastLines: string[] = []
  const child = await startChild({
    name: 'the stack',
    command: process.execPath,
    args: ['tools/embedded/dist/main.js'],
    cwd: repositoryRoot,
    stopSignal: 'SIGINT',
    stopTimeoutMs: 40_000,
    env: {
      ...process.env,
      // With this variable of npm, the stack stops when its parent (this process) is killed.
      npm_lifecycle_event: 'start',
      LEADWIRE_DATA: data,
      PORT: String(await freePort()),
      ...env,
    },
    onLine: (line) => {
      lastLines.push(line)
      if (lastLines.length > 40) lastLines.shift()
    },
  })
  const stop = async () => {
    await child.stop()
    await rm(folder, { recursive: true, force: true })
  }
  /** Reads dev.json. Process ids change when a process is restarted. */
  const readDev = async () => JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevFile
  const isServing = async () => isReady((await readDev()).base_url)
  try {
    await whenReady(child, isServing, { timeoutMs: 120_000 })
  } catch (error) {
    await stop()
    throw error
  }
  const { base_url: base, token, account, postgres_url } = await readDev()
  const databaseUrl = (name: string) => {
    const url = new URL(postgres_url)
    url.pathname = `/${name}`
    return url.href
  }
  const ground: Ground = {
    cli: { LEADWIRE_DATA: data },
    base,
    token,
    accountId: account.id,
    databaseUrl,
    lastLines,
    stop,
  }
  return { ground, data, readDev }
}
