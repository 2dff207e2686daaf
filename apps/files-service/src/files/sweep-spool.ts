import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** What every spooled file's name begins with: the folder may be the system's own. */
export const SPOOL_PREFIX = 'leadwire-upload-'

const HOUR_MS = 3_600_000

/**
 * Removes what uploads of a process that was killed left behind: spooled files nobody wrote to for an hour.
 * Younger ones may belong to another copy of this service. Answers how many were removed.
 */
export const sweepSpool = async (folder: string, now: () => number): Promise<number> => {
  let removed = 0
  for (const name of await readdir(folder)) {
    if (!name.startsWith(SPOOL_PREFIX)) continue
    const path = join(folder, name)
    try {
      const { mtimeMs } = await stat(path)
      if (now() - mtimeMs < HOUR_MS) continue
      await rm(path, { force: true })
      removed += 1
    } catch {
      // Another copy may sweep at the same time, and another user's files are not ours to remove.
    }
  }
  return removed
}
