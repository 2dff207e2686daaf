import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/**
 * X-SERVICE-Signature (interface: Authentication): HMAC-SHA1 over the raw body in lower-case hex. Its key is the
 * UTF-8 bytes of the secret exactly as it is shown, prefix included.
 */
export const serviceSignature = (secret: string, body: Buffer): string =>
  createHmac('sha1', secret).update(body).digest('hex')

/** webhook-signature (Standard Webhooks 1.0.0): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
export const standardSignature = (
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: number; body: Buffer },
): string =>
  `v1,${createHmac('sha256', keys.memo(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`

// The specification writes a key as `whsec_` and base64, which its libraries decode. The key of a secret in any other form, which a
// receiver chose, is its UTF-8 bytes (the `raw` form of those libraries).
const decodeKey = (secret: string): Buffer => {
  const encoded = /^whsec_(.+)$/.exec(secret)?.[1]
  const key = Buffer.from(encoded ?? '', 'base64')
  return encoded !== undefined && key.toString('base64') === encoded ? key : Buffer.from(secret)
}

const keys = new LRUCache<string, Buffer>({ max: 10_000, memoMethod: decodeKey })
