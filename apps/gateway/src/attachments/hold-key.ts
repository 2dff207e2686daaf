import type { ClaimIdempotencyKeyResponse } from '@leadwire/contracts'
import { type Fingerprints, isSameRequest, keyUsedForAnother } from '@leadwire/service-kit'
import type { Dependencies } from '../dependencies'

/** The response that was saved under a claimed key, if one was. Throws invalid when it was saved for another request. */
export const savedAnswer = ({ saved }: ClaimIdempotencyKeyResponse, asked: Fingerprints) => {
  if (!saved || isSameRequest(saved, asked)) return saved?.body
  throw keyUsedForAnother()
}

/** Runs `work` while no other request has its Idempotency-Key. */
export const holdKey = async <T>(
  { clients, logger }: Pick<Dependencies, 'clients' | 'logger'>,
  key: { tokenId: number; key: string },
  work: (claim: ClaimIdempotencyKeyResponse) => Promise<T>,
): Promise<T> => {
  const claim = await clients.attachments.claimIdempotencyKey(key)
  try {
    return await work(claim)
  } catch (error) {
    // Failures are not saved: the key is free for the next try.
    if (!claim.saved) {
      await clients.attachments
        .releaseIdempotencyKey({ ...key, claimId: claim.claimId })
        .catch((err: unknown) => logger.warn({ err }, 'could not release an idempotency key'))
    }
    throw error
  }
}
