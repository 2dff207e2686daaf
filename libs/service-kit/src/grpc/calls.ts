import { Actor, Idempotency } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Metadata } from 'nice-grpc-common'
import { type Database, within } from '../database/database'
import { answerUnderKey } from '../database/idempotency'
import { ServiceError } from '../errors/service-error'
import type { Sealer } from '../security/sealer'

export const ACTOR = 'actor-bin'
export const IDEMPOTENCY = 'idempotency-bin'
export const REPLAYED = 'idempotency-replayed'

export interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Message
}

const decodeMetadata = <Message>(bytes: Uint8Array | undefined, { decode }: Codec<Message>) => {
  try {
    return bytes && decode(bytes)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The metadata of the call cannot be decoded.', { cause })
  }
}

/** Returns a part that a message must have. Throws `bad_request` if the part is missing. */
export const requirePart = <Part>(part: Part | undefined, name: string): Part => {
  if (part === undefined) throw new ServiceError('bad_request', `The message has no ${name}.`)
  return part
}

/**
 * Returns the actor of a call. Returns undefined if an operator calls. Throws `bad_request` if the metadata
 * cannot be decoded.
 */
export const readActor = (metadata: Metadata): Actor | undefined => decodeMetadata(metadata.get(ACTOR), Actor)

/**
 * Responds to a unary call. If the call has an idempotency key and `response` is given, `work` runs in one
 * transaction, which also saves the response. The saved response is encrypted, because it may contain a token
 * or a secret. `response` is the codec of the saved response.
 */
export const answerOnce = async <Response>(
  { metadata, header }: Pick<CallContext, 'metadata' | 'header'>,
  deps: {
    database: Database
    sealer: Sealer
    response: Codec<Response> | undefined
  },
  work: (database: Database) => Promise<Response>,
): Promise<Response> => {
  const { database, sealer, response } = deps
  const asked = response && decodeMetadata(metadata.get(IDEMPOTENCY), Idempotency)
  if (!asked) return work(database)
  const context = `idempotency:${asked.tokenId}:${asked.key}`
  const { body, replayed } = await database.transaction((tx) =>
    answerUnderKey(tx, asked, async () =>
      sealer.seal(response.encode(await work(within(tx))).finish(), context),
    ),
  )
  if (replayed) header.set(REPLAYED, 'true')
  return response.decode(sealer.open(body, context))
}
