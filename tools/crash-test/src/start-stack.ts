import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isReady, repositoryRoot, startChild, whenReady } from '@leadwire/embedded'
import type { Ground } from './ground'

/** What of dev.json this program reads. */
interface DevFile {
  base_url: string
  token: string
  account: { id: number }
  services: Record<string, { pid: number; health: string }>
  pids: Record<string, number>
  postgres_url: string
}

export type Stack = Awaited<ReturnType<typeof startStack>>

/** Starts what `npm start` starts, on a folder of its own, and waits until it serves. `stop` removes the folder. */
export const startStack = async (env: Record<string, string>) => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-crash-test-'))
  // PostgreSQL runs as another user for root, and must be able to pass.
  await chmod(folder, 0o711)
  const data = join(folder, 'data')
  const lastLines: string[] = []
  const child = await startChild({
    ...{ name: 'the stack', command: process.execPath, args: ['tools/embedded/dist/main.js'] },
    ...{ cwd: repositoryRoot, stopSignal: 'SIGINT', stopTimeoutMs: 40_000 },
    // With npm's own variable it stops by itself when its parent, this process, is killed.
    env: {
      ...process.env,
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
  /** dev.json as it is now: pids change when something is started again. */
  const dev = async () => JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevFile
  const serves = async () => isReady((await dev()).base_url)
  try {
    await whenReady(child, serves, { timeoutMs: 120_000 })
  } catch (error) {
    await stop()
    throw error
  }
  const { base_url: base, token, account, postgres_url } = await dev()
  const databaseUrl = (name: string) => {
    const url = new URL(postgres_url)
    url.pathname = `/${name}`
    return url.href
  }
  const ground: Ground = {
    ...{ cli: { LEADWIRE_DATA: data }, base, token, accountId: account.id, databaseUrl, lastLines, stop },
  }
  return { ground, data, dev }
}
