import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the path of the first executable file with this name in the folders of a PATH. */
export function findOnPath(name: string, path: string | undefined): string | undefined {
  for (const folder of (path ?? '').split(delimiter).filter(Boolean)) {
    const candidate = join(folder, name)
    try {
      accessSync(candidate, constants.X_OK)
      if (statSync(candidate).isFile()) return candidate
    } catch {
      // Continues with the next folder.
    }
  }
  return undefined
}
