import { Actor, Idempotency } from '@leadwire/contracts'
import type { Metadata } from 'nice-grpc-common'
import { ServiceError } from '../errors/service-error'

const ACTOR = 'actor-bin'
const IDEMPOTENCY = 'idempotency-bin'

/** Client side: sets the caller and the idempotency key in a call's metadata. */
export const setCaller = (
  metadata: Metadata,
  { actor, idempotency }: { actor?: Actor | undefined; idempotency?: Idempotency | undefined },
): void => {
  if (actor) metadata.set(ACTOR, Actor.encode(actor).finish())
  if (idempotency) metadata.set(IDEMPOTENCY, Idempotency.encode(idempotency).finish())
}

const messageOf = <Message>(
  bytes: Uint8Array | undefined,
  { decode }: { decode(bytes: Uint8Array): Message },
): Message | undefined => {
  try {
    return bytes && decode(bytes)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The metadata of the call can not be read.', { cause })
  }
}

/** Server side: the caller; undefined for an operator. Throws bad_request. */
export const actorOfCall = (metadata: Metadata): Actor | undefined => messageOf(metadata.get(ACTOR), Actor)

/** Server side: the idempotency key of a call. Throws bad_request. */
export const idempotencyOfCall = (metadata: Metadata): Idempotency | undefined =>
  messageOf(metadata.get(IDEMPOTENCY), Idempotency)
