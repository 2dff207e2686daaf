import type { Actor, Idempotency } from '@leadwire/contracts'
import type { CallLimits } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { tellReplayed } from './idempotency'

declare module 'fastify' {
  interface FastifyRequest {
    /** Until when the request must be answered. */
    deadline: Date
  }
}

/** A request has so long from its first line to its answer; files, which take as long as their bytes do, are not bound by it. */
const REQUEST_LIMIT_MS = 10_000

/** Gives each request its deadline. */
export const setDeadlines = (app: FastifyInstance, limitMs = REQUEST_LIMIT_MS): void => {
  app.decorateRequest('deadline', null as unknown as Date)
  app.addHook('onRequest', (request, _reply, done) => {
    request.deadline = new Date(Date.now() + limitMs)
    done()
  })
}

// Not Fastify's own `request.signal`: that one is aborted as soon as a body was read (seen with Fastify 5.12 on Node 20).
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
 * The limits of what a request asks of the services: they end at its deadline, and when its connection is gone. They say who
 * asks, which a service records with a change. With `idempotency` the call that takes them is answered once under its key.
 */
export const limitsOf = (reply: FastifyReply, idempotency?: Idempotency): CallLimits => ({
  deadline: reply.request.deadline,
  actor: actorOf(reply.request),
  idempotency,
  onReplayed: () => tellReplayed(reply),
  isGone: () => reply.raw.destroyed,
  goneSignal: () => signalOf(reply),
})
