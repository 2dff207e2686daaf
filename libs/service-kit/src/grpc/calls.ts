import { Actor, Idempotency } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Metadata } from 'nice-grpc-common'
import { type Database, type OpenTransaction, within } from '../database/database'
import { ServiceError } from '../errors/service-error'
import type { Sealer } from '../security/sealer'

export const ACTOR = 'actor-bin'
export const IDEMPOTENCY = 'idempotency-bin'
export const REPLAYED = 'idempotency-replayed'

export interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Message
}

const messageOf = <Message>(bytes: Uint8Array | undefined, { decode }: Codec<Message>) => {
  try {
    return bytes && decode(bytes)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The metadata of the call can not be read.', { cause })
  }
}

/** The caller; undefined for an operator. Throws bad_request. */
export const actorOfCall = (metadata: Metadata): Actor | undefined => messageOf(metadata.get(ACTOR), Actor)

/** The response to a request; `replayed` when it was saved before. */
export interface Answer {
  body: Buffer
  replayed: boolean
}

/** Answers once with an idempotency key, in the transaction of the work. */
export type WithIdempotencyKey = (
  tx: OpenTransaction,
  asked: Idempotency,
  work: () => Promise<Buffer>,
) => Promise<Answer>

export const keyInUse = () =>
  new ServiceError('conflict', 'A request with this Idempotency-Key is still in flight. Try again shortly.', {
    retryAfterS: 1,
  })

export const keyUsedForAnother = () =>
  ServiceError.invalid({ idempotency_key: ['This Idempotency-Key was used before for another request.'] })

/**
 * With an idempotency key and a codec of the response, `work` is one transaction, which saves the response encrypted: it may hold a
 * token or a secret.
 */
export const answerOnce = async <Response>(
  { metadata, header }: Pick<CallContext, 'metadata' | 'header'>,
  deps: {
    database: Database
    sealer: Sealer
    underKey: WithIdempotencyKey
    response: Codec<Response> | undefined
  },
  work: (database: Database) => Promise<Response>,
): Promise<Response> => {
  const { database, sealer, underKey, response } = deps
  const asked = response && messageOf(metadata.get(IDEMPOTENCY), Idempotency)
  if (!asked) return work(database)
  const context = `idempotency:${asked.tokenId}:${asked.key}`
  const { body, replayed } = await database.transaction((tx) =>
    underKey(tx, asked, async () => sealer.seal(response.encode(await work(within(tx))).finish(), context)),
  )
  if (replayed) header.set(REPLAYED, 'true')
  return response.decode(sealer.open(body, context))
}
