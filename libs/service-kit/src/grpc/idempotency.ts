import type { Idempotency } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Metadata } from 'nice-grpc-common'
import { type Database, type OpenTransaction, within } from '../database/database'
import { ServiceError } from '../errors/service-error'
import type { Sealer } from '../security/sealer'
import { idempotencyOfCall } from './call-metadata'

const REPLAYED = 'idempotency-replayed'

/** Client side: whether a response is the one that was saved. */
export const isReplayed = (header: Metadata): boolean => header.get(REPLAYED) === 'true'

/** The response to a request; `replayed` when it was saved under its key before. */
export interface Answer {
  body: Buffer
  replayed: boolean
}

/** What makes a request under a key be answered once, in the transaction of its work. */
export type WithIdempotencyKey = (
  tx: OpenTransaction,
  asked: Idempotency,
  work: () => Promise<Buffer>,
) => Promise<Answer>

/** What was asked under a key, with the members of its JSON in the order in which they came, and whatever that is. */
export type Fingerprints = Pick<Idempotency, 'fingerprint' | 'unorderedFingerprint'>

/** Whether two requests are the same. Of those that 0.2.0 took only the ordered fingerprint is known. */
export const isSameRequest = (one: Fingerprints, other: Fingerprints): boolean =>
  one.unorderedFingerprint && other.unorderedFingerprint
    ? Buffer.compare(one.unorderedFingerprint, other.unorderedFingerprint) === 0
    : Buffer.compare(one.fingerprint, other.fingerprint) === 0

/** A key is in use by a request that is on its way. */
export const keyInUse = () =>
  new ServiceError('conflict', 'A request with this Idempotency-Key is still in flight. Try again shortly.', {
    retryAfterS: 1,
  })

export const keyUsedForAnother = () =>
  ServiceError.invalid({ idempotency_key: ['This Idempotency-Key was used before for another request.'] })

/** A message's encoding. */
export interface Codec<Response> {
  encode(message: Response): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Response
}

/**
 * Answers a call. When it is made under a key, all that `work` does with the database it is given is one transaction, in which
 * the response is saved; a response that was saved before is answered again, and no work is done. Saved responses are encrypted:
 * some tell a token or a secret.
 */
export const answerOnce = async <Response>(
  { metadata, header }: Pick<CallContext, 'metadata' | 'header'>,
  deps: { database: Database; sealer: Sealer; underKey: WithIdempotencyKey; response: Codec<Response> },
  work: (database: Database) => Promise<Response>,
): Promise<Response> => {
  const { database, sealer, underKey, response } = deps
  const asked = idempotencyOfCall(metadata)
  if (!asked) return work(database)
  const context = `idempotency:${asked.tokenId}:${asked.key}`
  const { body, replayed } = await database.transaction((tx) =>
    underKey(tx, asked, async () => sealer.seal(response.encode(await work(within(tx))).finish(), context)),
  )
  if (replayed) header.set(REPLAYED, 'true')
  return response.decode(sealer.open(body, context))
}
