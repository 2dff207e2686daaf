import { hash } from 'node:crypto'
import type { VerifiedToken } from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'

const FRESH_MS = 500
const MAX_CACHED = 20_000
const SOON_MS = 14 * 24 * 3_600_000

/** Whether a token expires within 14 days. Both in milliseconds since the epoch. */
export const endsSoon = (expiresAtMs: number | undefined, now: number): boolean =>
  expiresAtMs !== undefined && expiresAtMs > now && expiresAtMs <= now + SOON_MS

/** The owner of a token. */
export interface Principal extends VerifiedToken {
  endsSoonAt: string | undefined
}

type Verified = Principal | undefined

interface Verification {
  result: Verified | Promise<Verified>
  startedAt: number
}

/** Without a promise where the result is cached: most requests need not wait. */
export type TokenVerifier = (token: string) => Verified | Promise<Verified>

/**
 * Resolves to the owner of a token, or undefined when it is unknown, revoked or expired. A result, a negative one too, is used for 500 ms
 * from the start of its verification, so a revocation takes effect everywhere within a second. `verify` gets the SHA-256 of the token.
 */
export const createTokenVerifier = (options: {
  verify: (hash: Buffer) => Promise<VerifiedToken | undefined>
  now: () => number
}): TokenVerifier => {
  const { now } = options
  const cache = new LRUCache<string, Verification>({ max: MAX_CACHED })

  const verify = (key: string): Verification => {
    const verified = options.verify(Buffer.from(key, 'base64')).then((found) => {
      const endsSoonAt = endsSoon(found?.expiresAtMs, now()) ? found?.expiresAt : undefined
      verification.result = found && Object.assign(found, { endsSoonAt })
      return verification.result
    })
    const verification: Verification = { result: verified, startedAt: now() }
    cache.set(key, verification)
    // After a failure the next request verifies again.
    verified.catch(() => {
      if (cache.peek(key) === verification) cache.delete(key)
    })
    return verification
  }

  const unlessExpired = (verified: Verified): Verified =>
    (verified?.expiresAtMs ?? Number.POSITIVE_INFINITY) <= now() ? undefined : verified

  return (token) => {
    const key = hash('sha256', token, 'base64')
    const cached = cache.get(key)
    const age = cached ? now() - cached.startedAt : Number.POSITIVE_INFINITY
    const { result } = cached && age >= 0 && age < FRESH_MS ? cached : verify(key)
    return result instanceof Promise ? result.then(unlessExpired) : unlessExpired(result)
  }
}
