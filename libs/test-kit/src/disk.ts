import { execFile } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type TestDisk = {
  path: string
  /** Uses up all free space. */
  fill(): Promise<void>
  /** Frees the space that `fill` has used. */
  clear(): Promise<void>
  remove(): Promise<void>
}

const run = promisify(execFile)
const CHUNK = Buffer.alloc(1024 * 1024)

/**
 * Mounts a small file system in memory. Resolves with the disk, or with the reason why it cannot be mounted.
 * Only root can mount a file system.
 */
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
        // The last successful write is shorter than CHUNK. The write after it fails with ENOSPC.
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
