import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Each spooled file's name starts with this: the folder may be the system's own. */
export const SPOOL_PREFIX = 'leadwire-upload-'

const HOUR_MS = 3_600_000

/**
 * Removes spooled files that a killed process left: those not written to for an hour. Younger ones may belong to another copy of
 * this service. Resolves with how many were removed.
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
