import type { ServerResponse } from 'node:http'
import type { Actor } from '@leadwire/contracts'
import type { CallLimits } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { actorOf } from './actor'

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

/**
 * The limits of what a request asks of the services: they end at its deadline, and when its connection is gone. They say who
 * asks, which a service records with a change. The signal is not Fastify's own `request.signal`: that one is aborted as soon as a body was read (seen with Fastify 5.12 on Node 20).
 */
class RequestLimits implements CallLimits {
  readonly deadline: Date
  readonly actor: Actor
  readonly #response: ServerResponse

  constructor({ request, raw }: FastifyReply) {
    this.deadline = request.deadline
    this.actor = actorOf(request)
    this.#response = raw
  }

  isGone(): boolean {
    return this.#response.destroyed
  }

  // Made when it is asked for: calls that are gathered need none, and it costs more than the rest of them.
  get signal(): AbortSignal {
    const response = this.#response
    const controller = new AbortController()
    const abort = () => {
      if (!response.writableFinished) controller.abort()
    }
    if (response.destroyed) abort()
    else response.once('close', abort)
    return controller.signal
  }
}

export const limitsOf = (reply: FastifyReply): CallLimits => new RequestLimits(reply)
