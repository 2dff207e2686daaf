import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Moves a file of the same folder's disk to `path`: a power loss leaves what was there before, or all of this. */
export async function moveIntoPlace(file: string, path: string): Promise<void> {
  await sync(file)
  await rename(file, path)
  await sync(dirname(path))
}

/** Replaces a file, readable for its owner only: whoever reads it sees the old one or the new one, whole. */
export async function replaceFile(path: string, content: string): Promise<void> {
  const half = `${path}.${process.pid}.new`
  await writeFile(half, content, { mode: 0o600 })
  await moveIntoPlace(half, path)
}

export function writeJson(path: string, content: object): Promise<void> {
  return replaceFile(path, `${JSON.stringify(content, null, 2)}\n`)
}

/** What `writeJson` wrote. Undefined when there is no such file, and when it is empty or broken, which `say` reports. */
export async function readJson<T>(path: string, say: (line: string) => void): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T)
  } catch {
    say(`${path} is empty or broken: going on without it`)
    return undefined
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
