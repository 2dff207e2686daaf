import { hash } from 'node:crypto'
import type { VerifiedToken } from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'
import { endsSoon } from './token-expiry'

const FRESH_MS = 500
const MAX_CACHED = 20_000

/** Whose token a request carries. */
export interface Principal extends VerifiedToken {
  /** When the token ends, if that is soon. */
  endsSoonAt: string | undefined
}

type Verified = Principal | undefined

interface Verification {
  /** Who the token belongs to, once that is known. */
  result: Verified | Promise<Verified>
  startedAt: number
}

/** An answer that is known already comes without a promise: most requests need not wait. */
export type TokenVerifier = (token: string) => Verified | Promise<Verified>

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

  // Here, once for all requests until it is asked again.
  const principalOf = (verified: VerifiedToken | undefined): Verified =>
    verified &&
    Object.assign(verified, {
      endsSoonAt: endsSoon(verified.expiresAtMs, options.now()) ? verified.expiresAt : undefined,
    })

  const ask = (key: string): Verification => {
    const asked = options.verify(Buffer.from(key, 'base64')).then(principalOf)
    const verification: Verification = { result: asked, startedAt: options.now() }
    cache.set(key, verification)
    asked.then(
      (verified) => {
        verification.result = verified
      },
      // A failed question is no answer: the next request asks again.
      () => {
        if (cache.peek(key) === verification) cache.delete(key)
      },
    )
    return verification
  }

  const unlessExpired = (verified: Verified): Verified => {
    const expiresAt = verified?.expiresAtMs
    return expiresAt !== undefined && expiresAt <= options.now() ? undefined : verified
  }

  return (token) => {
    const key = hash('sha256', token, 'base64')
    const cached = cache.get(key)
    const age = cached ? options.now() - cached.startedAt : Number.POSITIVE_INFINITY
    const { result } = cached && age >= 0 && age < FRESH_MS ? cached : ask(key)
    return result instanceof Promise ? result.then(unlessExpired) : unlessExpired(result)
  }
}
