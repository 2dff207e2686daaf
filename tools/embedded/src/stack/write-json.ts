import { open, rename } from 'node:fs/promises'

/** Replaces a file by rename, readable for its owner only: whoever reads it sees the old one or the new one, whole. */
export async function writeJson(path: string, content: object): Promise<void> {
  const half = `${path}.${process.pid}.new`
  const file = await open(half, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(content, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(half, path)
}
