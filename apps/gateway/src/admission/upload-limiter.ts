import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'

export interface UploadLimits {
  /** How many uploads of an account are taken at once, by this copy of the gateway. */
  maxPerAccount: number
  /** How long a client may send nothing. */
  idleMs: number
  /** How long an upload may take in all. */
  totalMs: number
}

/** Runs the upload that a request is; the signal aborts when its client is gone, or too slow (408). */
export type UploadDoor = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T>

const tooSlow = () => new ProblemError('timeout', 'The file did not arrive in time.')

/**
 * Aborts when the client disconnects, when it sends nothing for a while, and when it takes too long in all. A pause that
 * the gateway makes, because whoever takes the bytes is slow, is not the client's.
 */
const watchClient = ({ raw }: FastifyRequest, reply: FastifyReply, { idleMs, totalMs }: UploadLimits) => {
  const controller = new AbortController()
  const total = setTimeout(() => controller.abort(tooSlow()), totalMs)
  const onIdle = () => {
    if (raw.complete || raw.isPaused()) raw.socket.setTimeout(idleMs)
    else controller.abort(tooSlow())
  }
  const onClose = () => controller.abort(new ServiceError('bad_request', 'The client disconnected.'))
  reply.raw.setTimeout(idleMs, onIdle)
  reply.raw.once('close', onClose)
  return { signal: controller.signal, stop: () => clearTimeout(total) }
}

export const createUploadDoor = (limits: UploadLimits): UploadDoor => {
  const { maxPerAccount } = limits
  const open = new Map<number, number>()
  const change = (account: number, by: number) => {
    const now = (open.get(account) ?? 0) + by
    if (now === 0) open.delete(account)
    else open.set(account, now)
  }
  return async (request, reply, work) => {
    const { accountId } = request.principal
    if ((open.get(accountId) ?? 0) >= maxPerAccount) {
      throw ServiceError.invalid({
        file: [`An account may have at most ${maxPerAccount} uploads at once. Try again when one is done.`],
      })
    }
    change(accountId, 1)
    const client = watchClient(request, reply, limits)
    try {
      return await work(client.signal)
    } finally {
      client.stop()
      change(accountId, -1)
    }
  }
}
