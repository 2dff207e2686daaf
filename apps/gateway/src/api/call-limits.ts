import type { Actor, Idempotency } from '@leadwire/contracts'
import type { CallLimits } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { markReplayed } from './idempotency'

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request must have its response. */
    deadline: Date
  }
}

/** From the first line of a request to its response. Files, which take as long as their bytes do, have other limits. */
const REQUEST_LIMIT_MS = 10_000

export const setDeadlines = (app: FastifyInstance, limitMs = REQUEST_LIMIT_MS): void => {
  app.decorateRequest('deadline', null as unknown as Date)
  app.addHook('onRequest', (request, _reply, done) => {
    request.deadline = new Date(Date.now() + limitMs)
    done()
  })
}

// Fastify's own `request.signal` is aborted as soon as a body has been read (seen with Fastify 5.12 on Node 20).
const signalOf = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  const abort = () => {
    if (!raw.writableFinished) controller.abort()
  }
  if (raw.destroyed) abort()
  else raw.once('close', abort)
  return controller.signal
}

const actorOf = ({ principal, id }: FastifyRequest): Actor | undefined =>
  principal && { tokenId: principal.tokenId, tokenName: principal.name, requestId: id }

/**
 * The limits of a request's calls to services: they end at its deadline, or when its connection is closed. They carry the actor, whom
 * a service records with a change, and the Idempotency-Key under which it saves its response.
 */
export const limitsOf = (reply: FastifyReply, idempotency?: Idempotency): CallLimits => ({
  deadline: reply.request.deadline,
  actor: actorOf(reply.request),
  idempotency,
  onReplayed: () => markReplayed(reply),
  isGone: () => reply.raw.destroyed,
  goneSignal: () => signalOf(reply),
})
