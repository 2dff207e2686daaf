import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply } from 'fastify'
import type { Admission } from '../admission/admission'
import { ProblemError } from '../http/problem'
import { TOO_SLOW, watchSpeed } from './collect-body'

export interface UploadLimits {
  /** The grace period. After this time, the client must have sent at least 1 KiB for each further second. */
  graceMs: number
  /** How long the client may send no byte. */
  idleMs: number
  /** How long an upload may take in total. */
  totalMs: number
}

export interface Upload {
  /** Aborts when the client disconnects or is too slow. */
  signal: AbortSignal
  /**
   * Takes a place for the upload until the response has ended. The caller must call this function before each
   * file is stored. Only the first call has an effect.
   */
  takePlace: () => Promise<void>
}

/**
 * Runs `work` to receive the upload of a request. If the client is too slow, throws `timeout` (408) instead
 * of the error of `work`.
 */
export type ReceiveUpload = <T>(reply: FastifyReply, work: (upload: Upload) => Promise<T>) => Promise<T>

const LATE = 'The file did not arrive in time. Send it again over a faster connection.'

export const createUploadLimiter = (
  admission: Admission,
  { graceMs, idleMs, totalMs }: UploadLimits,
): ReceiveUpload => {
  return async (reply, work) => {
    const { raw } = reply.request
    const controller = new AbortController()
    const end = (detail: string) => controller.abort(new ProblemError('timeout', detail))
    const total = setTimeout(() => end(LATE), totalMs)
    const stopWatch = watchSpeed(raw, graceMs, () => end(TOO_SLOW))
    reply.raw.setTimeout(idleMs, () => {
      // Does not time out a request that the gateway itself has paused because files-service is slow.
      if (raw.complete || raw.isPaused()) raw.socket.setTimeout(idleMs)
      else end(LATE)
    })
    reply.raw.once('close', () =>
      controller.abort(new ServiceError('bad_request', 'The client disconnected.')),
    )
    let place: Promise<void> | undefined
    const takePlace = () => {
      place ??= admission.holdUpload(reply)
      return place
    }
    try {
      return await work({ signal: controller.signal, takePlace })
    } catch (error) {
      throw controller.signal.aborted ? controller.signal.reason : error
    } finally {
      clearTimeout(total)
      stopWatch()
    }
  }
}
