import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** As make-vectors.py writes them; a header is null when it is missing. */
export interface Vector {
  name: string
  secret: string
  body_base64: string
  body_text: string | null
  id: string | null
  timestamp: string | null
  service_signature: string | null
  standard_signature: string | null
  /** The receiver's clock, in seconds. */
  now: number
  service: string
  standard: string
}

export const packageFolder = join(__dirname, '..')

export const vectors: Vector[] = JSON.parse(readFileSync(join(packageFolder, 'vectors.json'), 'utf8')).vectors

export const bodyOf = (vector: Vector) => Buffer.from(vector.body_base64, 'base64')

/** The headers that are there. */
export const headersOf = (vector: Vector): Record<string, string> => {
  const all = {
    'X-SERVICE-Signature': vector.service_signature,
    'webhook-id': vector.id,
    'webhook-timestamp': vector.timestamp,
    'webhook-signature': vector.standard_signature,
  }
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
  )
}
