import { createHash } from 'node:crypto'
import type { VerifiedToken } from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'

const FRESH_MS = 500
const MAX_CACHED = 20_000

interface Verification {
  result: Promise<VerifiedToken | undefined>
  startedAt: number
}

export type TokenVerifier = (token: string) => Promise<VerifiedToken | undefined>

/**
 * Tells who a token belongs to, or undefined when it is unknown, revoked or expired.
 *
 * An answer, a 'no' too, is used for 500 ms from the moment the question left, so a revocation works everywhere
 * within a second; requests that come meanwhile share the question. The expiry is looked at on every call.
 * `verify` is asked with the SHA-256 of the token: the token itself goes nowhere. `now` is in milliseconds.
 */
export const createTokenVerifier = (options: {
  verify: (hash: Buffer) => Promise<VerifiedToken | undefined>
  now: () => number
}): TokenVerifier => {
  const cache = new LRUCache<string, Verification>({ max: MAX_CACHED })

  const ask = (key: string, hash: Buffer): Verification => {
    const verification = { result: options.verify(hash), startedAt: options.now() }
    cache.set(key, verification)
    // A failed question is no answer: the next request asks again.
    verification.result.catch(() => {
      if (cache.peek(key) === verification) cache.delete(key)
    })
    return verification
  }

  return async (token) => {
    const hash = createHash('sha256').update(token).digest()
    const key = hash.toString('base64')
    const cached = cache.get(key)
    const age = cached ? options.now() - cached.startedAt : Number.POSITIVE_INFINITY
    const { result } = cached && age >= 0 && age < FRESH_MS ? cached : ask(key, hash)
    const verified = await result
    const expiresAt = verified?.expiresAtMs
    return expiresAt !== undefined && expiresAt <= options.now() ? undefined : verified
  }
}
