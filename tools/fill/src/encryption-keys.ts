import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the encryption keys of a stack: ENCRYPTION_KEYS, or else the key in the stack's data folder. */
export const readEncryptionKeys = (data: string): string =>
  process.env['ENCRYPTION_KEYS'] || readFileSync(join(data, 'encryption-key'), 'utf8').trim()
