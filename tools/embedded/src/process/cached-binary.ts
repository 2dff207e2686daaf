import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock } from './kernel-lock.cjs'
import { moveIntoPlace } from './replace-file'

/** A way to get a program: works in a folder of its own, answers with the program's path, throws why it can't. */
export type Source = { name: string; get: (folder: string) => Promise<string> }

/**
 * A program in the cache, or taken into it from the first source that has it. Appears there whole or not at all; of
 * several processes that want it at once, one gets it and the others wait.
 * @throws with every source's reason.
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
    if (!existsSync(target)) await take(target, { cache, name, sources, isUsable, say })
    return target
  } finally {
    lock.release()
  }
}

async function take(
  target: string,
  { cache, name, sources, isUsable, say }: Parameters<typeof cachedBinary>[0],
): Promise<void> {
  const refusals: string[] = []
  for (const source of sources) {
    say(`getting ${name} (${source.name})`)
    const folder = await mkdtemp(join(cache, `.${name}-`))
    try {
      const binary = await source.get(folder)
      await chmod(binary, 0o755)
      if (!(await isUsable(binary))) throw new Error('what it gave does not run here, or is too old')
      await moveIntoPlace(binary, target)
      return
    } catch (error) {
      refusals.push(
        `${source.name}: ${(error instanceof Error ? error.message : String(error)).trim().split('\n')[0]}`,
      )
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  throw new Error(refusals.map((refusal) => `\n  - ${refusal}`).join(''))
}
