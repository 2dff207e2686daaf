import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimIdempotencyKeyResponse } from '@leadwire/contracts'
import { keyUsedForAnother } from '@leadwire/service-kit'
import type { Dependencies } from '../api/dependencies'

/** The response that was saved under a claimed key. Throws invalid when it was saved for another request. */
export const savedResponse = ({ saved }: ClaimIdempotencyKeyResponse, fingerprint: Buffer) => {
  if (!saved || fingerprint.equals(saved.fingerprint)) return saved?.body
  throw keyUsedForAnother()
}

/** A claim expires after ten seconds, so that a request whose gateway died can be sent again. */
const RENEW_EVERY_MS = 3000

type Held = { tokenId: number; key: string; claimId: string }

const keepRenewing = async (
  { clients, logger }: Pick<Dependencies, 'clients' | 'logger'>,
  held: Held,
  signal: AbortSignal,
): Promise<void> => {
  for (;;) {
    await pause(RENEW_EVERY_MS, undefined, { signal })
    await clients.attachments
      .renewIdempotencyKey(held)
      .catch((err: unknown) => logger.warn({ err }, 'could not renew the claim of an idempotency key'))
  }
}

/** Runs `work` while no other request has its Idempotency-Key. */
export const holdKey = async <T>(
  dependencies: Pick<Dependencies, 'clients' | 'logger'>,
  key: { tokenId: number; key: string },
  work: (claim: ClaimIdempotencyKeyResponse) => Promise<T>,
): Promise<T> => {
  const { clients, logger } = dependencies
  const claim = await clients.attachments.claimIdempotencyKey(key)
  if (claim.saved) return work(claim)
  const held = { ...key, claimId: claim.claimId }
  const done = new AbortController()
  keepRenewing(dependencies, held, done.signal).catch(() => undefined)
  try {
    return await work(claim)
  } catch (error) {
    // Failures are not saved.
    await clients.attachments
      .releaseIdempotencyKey(held)
      .catch((err: unknown) => logger.warn({ err }, 'could not release an idempotency key'))
    throw error
  } finally {
    done.abort()
  }
}
