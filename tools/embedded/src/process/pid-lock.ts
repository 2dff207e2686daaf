import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { startOf } from './identity'

export type PidLock = { release(): Promise<void> }
type Holder = { pid: number; start: string | undefined }

/**
 * Takes a lock file that holds our pid. A lock whose holder is gone counts for nothing.
 * @returns the lock, or the pid of the process that has it.
 */
export async function takePidLock(path: string): Promise<PidLock | { heldBy: number }> {
  await mkdir(dirname(path), { recursive: true })
  const own = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  const mine: Holder = { pid: process.pid, start: await startOf(process.pid) }
  await writeFile(own, JSON.stringify(mine))
  try {
    for (;;) {
      // A link appears whole or not at all, and only one of many can make it.
      const taken = await link(own, path).then(
        () => true,
        () => false,
      )
      if (taken) return { release: () => rm(path, { force: true }) }
      const holder = await readHolder(path)
      if (holder && (await isAlive(holder))) return { heldBy: holder.pid }
      await rename(path, `${own}.stale`).catch(() => {})
      await rm(`${own}.stale`, { force: true })
    }
  } finally {
    await rm(own, { force: true })
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const raw = await readFile(path, 'utf8').catch(() => undefined)
  return raw === undefined ? undefined : (JSON.parse(raw) as Holder)
}

async function isAlive({ pid, start }: Holder): Promise<boolean> {
  const now = await startOf(pid)
  return now !== undefined && now === start
}
