import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Moves a file on the same disk to `path` atomically: after a power loss `path` has the old or the new
 * content.
 */
export async function moveIntoPlace(file: string, path: string): Promise<void> {
  await sync(file)
  await rename(file, path)
  await sync(dirname(path))
}

/** Replaces a file atomically: a reader sees the old or the new content. Only the owner may read the file. */
export async function replaceFile(path: string, content: string): Promise<void> {
  const half = `${path}.${process.pid}.new`
  await writeFile(half, content, { mode: 0o600 })
  await moveIntoPlace(half, path)
}

export function writeJson(path: string, content: object): Promise<void> {
  return replaceFile(path, `${JSON.stringify(content, null, 2)}\n`)
}

/**
 * Reads a file that `writeJson` wrote. Returns undefined if the file is missing or damaged. Reports a damaged
 * file with `say`.
 */
export async function readJson<T>(path: string, say: (line: string) => void): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T)
  } catch {
    say(`${path} is empty or damaged and is ignored`)
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
