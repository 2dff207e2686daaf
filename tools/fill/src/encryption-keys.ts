import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** ENCRYPTION_KEYS of the stack in a data folder. */
export const readEncryptionKeys = (data: string): string =>
  process.env['ENCRYPTION_KEYS'] || readFileSync(join(data, 'encryption-key'), 'utf8').trim()
