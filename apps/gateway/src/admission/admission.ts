import { type BatcherMeters, createFairQueue, ServiceError, TooBusy } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { ProblemError } from '../http/problem'

const REQUESTS_COST = 256
/** Each takes some 50 KB with its connection (seen with 2,000 that send 14 KB). */
const MAX_WAITING = 6000
const MAX_WAIT_MS = 3000
/** As long as a request may take. */
const MAX_BODY_WAIT_MS = 10_000

const EXPORTS = 4
const EVENT_STREAMS = 32
const POLLS = 1000

/** A queue in which no request waits: what an account has beyond `max` is refused. */
const perAccount = (max: number, what: string): Enter => {
  const enter = createFairQueue({ shareOf: () => max, maxWaiting: 0, maxWaitMs: 0 })
  const refusal = `An account may have at most ${max} ${what} at once. Try again when one is done.`
  return (accountId) =>
    enter(accountId).catch(() => {
      throw new ProblemError('rate-limited', refusal, { 'retry-after': '5' })
    })
}

type Enter = ReturnType<typeof createFairQueue>

/**
 * What this copy of the gateway does at once, by account. A request beyond its account's share waits: refused at once, clients send it
 * again at once (refusals to 640 connections left a tenth of the throughput). Nothing waits for files and streams, which last long. Each
 * queue resolves to the function that gives a place back.
 */
export const createAdmission = (maxUploads: number, meters?: BatcherMeters) => ({
  /** Equal shares, and one share is kept free for the next account. */
  requests: createFairQueue({
    shareOf: (accounts) => REQUESTS_COST / (accounts + 1),
    capacity: REQUESTS_COST,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    meter: meters?.('request'),
  }),
  largeBodies: createFairQueue({
    shareOf: () => 1,
    capacity: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_BODY_WAIT_MS,
  }),
  uploads: perAccount(maxUploads, 'uploads'),
  /** Of the public: they take no place of the account's own. */
  captures: perAccount(maxUploads, 'forms with files'),
  exports: perAccount(EXPORTS, 'exports'),
  eventStreams: perAccount(EVENT_STREAMS, 'streams of events'),
  polls: perAccount(POLLS, 'polls for events'),
})

export type Admission = ReturnType<typeof createAdmission>

/** Holds a place until the response has ended, or its connection. */
export const holdPlace = async (reply: FastifyReply, place: Promise<() => void>): Promise<void> => {
  const leave = await place
  if (!reply.raw.destroyed) return void reply.raw.once('close', leave)
  leave()
  throw new TooBusy()
}

/** A request whose call is batched with others costs 1: 50 of them keep all services busy, more of them make larger batches. */
const CALL_COST = 4
/** And 1 more for each so many bytes of its body, which take as much time, and twenty times as much memory. */
const BYTES_OF_COST = 4 * 1024
/** A larger body costs no more: two bodies of the largest size are in flight at once. */
const MAX_BODY_COST = 60

interface Weight {
  bodyLimit: number
  isBatched: boolean
}

/** Makes the hook by which the requests of a route wait until they may begin. Only their headers have been read then. */
export type LimitRequests = (weight: Weight) => onRequestAsyncHookHandler

const costOf = ({ headers }: FastifyRequest, { bodyLimit, isBatched }: Weight): number => {
  const bytes =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : bodyLimit
  return (isBatched ? 1 : CALL_COST) + Math.min(Math.floor(bytes / BYTES_OF_COST), MAX_BODY_COST)
}

export const createRequestLimiter =
  ({ requests }: Admission): LimitRequests =>
  (weight) =>
  (request, reply) =>
    holdPlace(reply, requests(request.principal.accountId, costOf(request, weight)))

export interface UploadLimits {
  /** How long a client may send nothing. */
  idleMs: number
  /** How long an upload may take in all. */
  totalMs: number
}

/** Receives the upload of a request. The signal aborts when its client has disconnected, or is too slow (408): that is then thrown. */
export type ReceiveUpload = <T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>) => Promise<T>

const tooSlow = () => new ProblemError('timeout', 'The file did not arrive in time.')

export const createUploadLimiter =
  ({ uploads, captures }: Admission, { idleMs, totalMs }: UploadLimits): ReceiveUpload =>
  async (reply, work) => {
    const { principal, raw } = reply.request
    const leave = await (principal.origins.length > 0 ? captures : uploads)(principal.accountId)
    const controller = new AbortController()
    const total = setTimeout(() => controller.abort(tooSlow()), totalMs)
    reply.raw.setTimeout(idleMs, () => {
      // While the gateway itself has paused the request, because files-service is slow, the client is not too slow.
      if (raw.complete || raw.isPaused()) raw.socket.setTimeout(idleMs)
      else controller.abort(tooSlow())
    })
    reply.raw.once('close', () =>
      controller.abort(new ServiceError('bad_request', 'The client disconnected.')),
    )
    try {
      return await work(controller.signal)
    } catch (error) {
      throw controller.signal.aborted ? controller.signal.reason : error
    } finally {
      clearTimeout(total)
      leave()
    }
  }
