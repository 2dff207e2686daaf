import { Actor } from '@leadwire/contracts'
import type { Metadata } from 'nice-grpc-common'
import { ServiceError } from '../runtime/service-error'

const NAME = 'actor-bin'

/** Client side: says in a call's metadata who asks for it. */
export const tellActor = (metadata: Metadata, actor: Actor | undefined): void => {
  if (actor) metadata.set(NAME, Actor.encode(actor).finish())
}

/** Server side: who asks for a call; undefined for an operator. Throws bad_request. */
export const actorOfCall = (metadata: Metadata): Actor | undefined => {
  const told = metadata.get(NAME)
  if (!told) return undefined
  try {
    return Actor.decode(told)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The actor of the call can not be read.', { cause })
  }
}
