import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** X-SERVICE-Signature (interface: Authentication). The key is the UTF-8 bytes of the secret exactly as it is shown, prefix included. */
export const serviceSignature = (secret: string, body: Buffer): string =>
  createHmac('sha1', secret).update(body).digest('hex')

/** webhook-signature (Standard Webhooks 1.0.0): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
export const standardSignature = (
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: number; body: Buffer },
): string =>
  `v1,${createHmac('sha256', keys.memo(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`

// `whsec_` and base64, as the specification writes a key. A secret that a receiver chose may have another form: then its UTF-8 bytes.
const decodeKey = (secret: string): Buffer => {
  const encoded = /^whsec_(.+)$/.exec(secret)?.[1]
  const key = Buffer.from(encoded ?? '', 'base64')
  return encoded !== undefined && key.toString('base64') === encoded ? key : Buffer.from(secret)
}

const keys = new LRUCache<string, Buffer>({ max: 10_000, memoMethod: decodeKey })
