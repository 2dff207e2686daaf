import type { Idempotency } from '@leadwire/contracts'
import type { CallLimits } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply } from 'fastify'
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

/** Calls to services end at the request's deadline, or when its connection is closed. They carry actor and Idempotency-Key. */
export const limitsOf = (reply: FastifyReply, idempotency?: Idempotency): CallLimits => {
  const { principal, id, deadline } = reply.request
  let signal: AbortSignal | undefined
  return {
    deadline,
    actor: principal && { tokenId: principal.tokenId, tokenName: principal.name, requestId: id },
    idempotency,
    onReplayed: () => markReplayed(reply),
    isGone: () => reply.raw.destroyed,
    goneSignal: () => {
      signal ??= signalOf(reply)
      return signal
    },
  }
}
