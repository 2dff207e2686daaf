import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { replaceFile } from '../process/replace-file'

/**
 * Returns a secret of a stack (the service token, the password of NATS, or the key that encrypts stored
 * secrets). Creates the secret at the first start and stores it in a file that only its owner may read, so
 * that later starts use the same secret.
 */
export async function ensureSecret(path: string): Promise<string> {
  const kept = (await readFile(path, 'utf8').catch(() => undefined))?.trim()
  if (kept !== undefined) {
    // Never replaces a damaged secret: data that was encrypted with the original secret would become
    // unreadable.
    if (kept.length < 16)
      throw new Error(`${path} is empty or damaged. Restore it, or remove it to create a new secret.`)
    return kept
  }
  const secret = randomBytes(32).toString('base64url')
  await replaceFile(path, `${secret}\n`)
  return secret
}
