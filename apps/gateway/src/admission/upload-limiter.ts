import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import type { Admission } from './admission'

export interface UploadLimits {
  /** How many uploads of an account this copy of the gateway takes at once. */
  maxPerAccount: number
  /** How long a client may send nothing. */
  idleMs: number
  /** How long an upload may take in all. */
  totalMs: number
}

/** Receives the upload of a request. The signal aborts when its client has disconnected, or is too slow (408). */
export type ReceiveUpload = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T>

const tooSlow = () => new ProblemError('timeout', 'The file did not arrive in time.')

// While the gateway itself has paused the request, because files-service is slow, the client is not too slow.
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

export const createUploadLimiter =
  ({ uploads }: Admission, limits: UploadLimits): ReceiveUpload =>
  async (request, reply, work) => {
    const leave = await uploads(request.principal.accountId)
    const client = watchClient(request, reply, limits)
    try {
      return await work(client.signal)
    } finally {
      client.stop()
      leave()
    }
  }
