import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A vector of vectors.json, which make-vectors.py writes. A missing header is null. */
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

export const decodeBody = (vector: Vector) => Buffer.from(vector.body_base64, 'base64')

/** Returns the headers of a vector, without its missing headers. */
export const listHeaders = (vector: Vector): Record<string, string> => {
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
