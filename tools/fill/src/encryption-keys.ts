import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads the ENCRYPTION_KEYS of the stack with this data folder. */
export const readEncryptionKeys = (data: string): string =>
  process.env['ENCRYPTION_KEYS'] || readFileSync(join(data, 'encryption-key'), 'utf8').trim()
