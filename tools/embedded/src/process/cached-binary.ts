import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock } from './kernel-lock.cjs'
import { moveIntoPlace } from './replace-file'

/**
 * A source of a program. `get` works in a new folder, and returns the program's path or throws the reason.
 */
export type Source = { name: string; get: (folder: string) => Promise<string> }

/**
 * Returns the path of a program in the cache. If the program is missing, gets it from the first source that
 * has it. The program appears in the cache atomically. If several processes need it at the same time, one
 * process gets it and the others wait.
 * @throws an error with the reason of each source
 */
export async function cachedBinary({
  cache,
  name,
  sources,
  isUsable,
  say,
}: {
  cache: string
  name: string
  sources: Source[]
  isUsable: (path: string) => Promise<boolean>
  say: (line: string) => void
}): Promise<string> {
  const target = join(cache, name)
  if (existsSync(target)) return target
  const lock = await waitForLock(join(cache, `.${name}.lock`))
  try {
    if (!existsSync(target)) await fill(target, { cache, name, sources, isUsable, say })
    return target
  } finally {
    lock.release()
  }
}

async function fill(
  target: string,
  { cache, name, sources, isUsable, say }: Parameters<typeof cachedBinary>[0],
): Promise<void> {
  const reasons: string[] = []
  for (const source of sources) {
    say(`getting ${name} (${source.name})`)
    const folder = await mkdtemp(join(cache, `.${name}-`))
    try {
      const binary = await source.get(folder)
      await chmod(binary, 0o755)
      if (!(await isUsable(binary))) throw new Error('the program does not run here, or is too old')
      await moveIntoPlace(binary, target)
      return
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      reasons.push(`${source.name}: ${message.trim().split('\n')[0]}`)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  throw new Error(reasons.map((reason) => `\n  - ${reason}`).join(''))
}
