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

/** The response to a request; `replayed` when it was saved before. */
export interface Answer {
  body: Buffer
  replayed: boolean
}

/** Answers a request with an idempotency key once, in the transaction of its work. */
export type WithIdempotencyKey = (
  tx: OpenTransaction,
  asked: Idempotency,
  work: () => Promise<Buffer>,
) => Promise<Answer>

/** Another request with this key is in flight. */
export const keyInUse = () =>
  new ServiceError('conflict', 'A request with this Idempotency-Key is still in flight. Try again shortly.', {
    retryAfterS: 1,
  })

export const keyUsedForAnother = () =>
  ServiceError.invalid({ idempotency_key: ['This Idempotency-Key was used before for another request.'] })

export interface Codec<Response> {
  encode(message: Response): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Response
}

/**
 * Answers a call. With an idempotency key all that `work` does with its database is one transaction, which saves the response; a
 * saved response is answered again without work. Saved responses are encrypted: some hold a token or a secret.
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
