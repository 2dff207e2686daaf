import { execFile } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type TestDisk = {
  path: string
  /** Takes all the room that is left. */
  fill(): Promise<void>
  /** Gives it back. */
  clear(): Promise<void>
  remove(): Promise<void>
}

const run = promisify(execFile)
const CHUNK = Buffer.alloc(1024 * 1024)

/** A small file system in memory. @returns it, or why it can't be had: only root mounts one */
export async function mountDisk({
  mebibytes,
}: {
  mebibytes: number
}): Promise<TestDisk | { reason: string }> {
  const path = await mkdtemp(join(tmpdir(), 'leadwire-disk-'))
  const ballast = join(path, 'ballast')
  const remove = () => rm(path, { recursive: true, force: true })
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path])
  } catch (error) {
    await remove()
    return { reason: `no disk of its own: ${error instanceof Error ? error.message : error}` }
  }
  return {
    path,
    fill: async () => {
      const file = await open(ballast, 'a')
      try {
        // The last write is a short one; the one behind it fails.
        for (;;) await file.write(CHUNK)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    },
    clear: () => rm(ballast, { force: true }),
    remove: async () => {
      await run('umount', [path])
      await remove()
    },
  }
}
