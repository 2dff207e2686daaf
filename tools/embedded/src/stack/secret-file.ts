import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { replaceFile } from '../process/replace-file'

/**
 * A secret of a stack (the services' token, the password of NATS, the key of stored secrets): made at the first start, and kept in a file that only its
 * owner may read, so that what outlived a start and what a later one starts understand each other.
 */
export async function ensureSecret(path: string): Promise<string> {
  const kept = (await readFile(path, 'utf8').catch(() => undefined))?.trim()
  if (kept !== undefined) {
    // Another one in its place would make what was encrypted with it unreadable.
    if (kept.length < 16)
      throw new Error(`${path} is empty or broken. Put it back, or remove it for a new one.`)
    return kept
  }
  const secret = randomBytes(32).toString('base64url')
  await replaceFile(path, `${secret}\n`)
  return secret
}
