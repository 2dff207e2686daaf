/*
 * Limits, by account, the work that this copy of the gateway does at once. A request whose body has arrived
 * waits here until it may begin. Its calls may then join batches: docs/architecture.md lists the queues.
 * A request does not wait, but is refused at once, if one of these is not free:
 *
 * - memory for its body, because a waiting body would already use the memory
 * - a place for its file, export, stream or poll, because places are held for a long time
 *
 * Anybody can send requests with the publishable token of a public page. Such requests use separate places
 * and separate memory, so that they cannot block the account's other requests. Each visitor, by IP address,
 * gets only a share of this memory and a few places for files.
 */
import { type BatcherMeter, type BatcherMeters, createFairQueue, TooBusy } from '@leadwire/service-kit'
import type { FastifyReply } from 'fastify'
import { ProblemError } from '../http/problem'
import { findSource, type Source } from './rate-limits'

const MEBIBYTE = 1024 * 1024
/**
 * The maximum size of a body with a publishable token. Also the maximum size of all fields of a form with
 * files.
 */
export const PUBLIC_BODY_BYTES = 64 * 1024

const MAX_WAIT_MS = 3000

/** Enough for a family or an office that sends forms from one IP address at the same time. */
const UPLOADS_PER_SOURCE = 4
const EXPORTS = 4
const EVENT_STREAMS = 32
const POLLS = 1000

/**
 * The cost of a request whose call is sent in a batch. 50 such requests already keep all services busy, so
 * the 256 that the queue admits leave no service idle.
 */
export const BATCHED_CALL_COST = 1
/** The cost of a request that makes a separate call. */
export const UNARY_CALL_COST = 4
/**
 * Each 4 KiB of a body add 1 to the cost of its request. The gateway needs as much time for 4 KiB as for a
 * batched call, and twenty times as much memory.
 */
const BYTES_PER_COST = 4 * 1024
/**
 * The maximum that a body adds to the cost. An account that is alone has half of the queue, which fits two of
 * the largest bodies.
 */
const MAX_BODY_COST = 60

/**
 * Makes the queue of requests. Accounts have equal shares, and one share is kept free for the next account.
 * A request beyond its account's share waits. Refusals would cost more than waiting, because clients repeat
 * a refused request at once: when 640 connections were refused, throughput fell to a tenth.
 */
const createRequestQueue = (capacity: number, maxWaiting: number, meter: BatcherMeter | undefined) =>
  createFairQueue({
    computeShare: (accounts) => capacity / (accounts + 1),
    capacity,
    maxWaiting,
    maxWaitMs: MAX_WAIT_MS,
    meter,
  })

/**
 * Bounds the bytes of bodies in memory, and refuses a body that does not fit. The share of each holder has
 * room for at least one body of the `largest` size.
 */
const createBodyMemory = <Holder>(capacity: number, largest: number, meter: BatcherMeter | undefined) =>
  createFairQueue<Holder>({
    computeShare: (holders) => Math.max(largest, capacity / (holders + 1)),
    capacity,
    meter,
  })

/**
 * Makes the function that takes a place for a holder. The function rejects with rate-limited if the holder
 * already has `max` places.
 */
const createPlaces = <Holder = number>(max: number, holder: string, what: string) => {
  const enter = createFairQueue<Holder>({ computeShare: () => max })
  const refusal = `${holder} may have at most ${max} ${what} at once. Try again when one is done.`
  return (key: Holder) =>
    enter(key).catch(() => {
      throw new ProblemError('rate-limited', refusal, { 'retry-after': '5' })
    })
}

/**
 * Holds a place until the response has ended or its connection is closed. Throws TooBusy if the connection
 * is closed already.
 */
export const holdPlace = async (reply: FastifyReply, place: Promise<() => void>): Promise<void> => {
  const leave = await place
  if (!reply.raw.destroyed) return void reply.raw.once('close', leave)
  leave()
  throw new TooBusy()
}

export type Admission = ReturnType<typeof createAdmission>

export const createAdmission = (maxUploads: number, meters?: BatcherMeters) => {
  // A waiting request and its connection use about 50 KB (measured with 2,000 requests of 14 KB). 6,000
  // waiting requests therefore use about 300 MB.
  const requests = createRequestQueue(256, 6000, meters?.('request'))
  const publicRequests = createRequestQueue(64, 1000, meters?.('public-request'))
  const bodies = createBodyMemory<number>(64 * MEBIBYTE, MEBIBYTE, meters?.('body'))
  const publicBodies = createBodyMemory<Source>(16 * MEBIBYTE, PUBLIC_BODY_BYTES, meters?.('public-body'))
  const uploads = createPlaces(maxUploads, 'An account', 'uploads')
  const publicUploads = createPlaces(maxUploads, 'An account', 'forms with files')
  const uploadsOfSource = createPlaces<Source>(UPLOADS_PER_SOURCE, 'An address', 'forms with files')

  return {
    /**
     * Waits until a request whose body has arrived may begin. The request holds its place until its
     * response has ended. Throws TooBusy after 3 s, or if too many requests wait.
     */
    admitRequest: (
      reply: FastifyReply,
      request: {
        bodyBytes: number
        callCost: number
        /** The account to admit. The default is the account of the request's token. */
        accountId?: number
      },
    ): Promise<void> => {
      const { principal } = reply.request
      const { bodyBytes, callCost, accountId = principal.accountId } = request
      const cost = callCost + Math.min(Math.floor(bodyBytes / BYTES_PER_COST), MAX_BODY_COST)
      const queue = principal?.isPublishable ? publicRequests : requests
      return holdPlace(reply, queue(accountId, cost))
    },
    /**
     * Holds memory for a body until the response has ended. Throws TooBusy if not enough memory is free.
     */
    holdBodyMemory: (reply: FastifyReply, bytes: number): Promise<void> => {
      const { request } = reply
      const { principal } = request
      if (principal?.isPublishable) return holdPlace(reply, publicBodies(findSource(request), bytes))
      return holdPlace(reply, bodies(principal?.accountId ?? 0, bytes))
    },
    /**
     * Holds the places of an upload. Throws rate-limited if the account, or the visitor, already has the
     * maximum number of uploads.
     */
    holdUpload: async (reply: FastifyReply): Promise<void> => {
      const { request } = reply
      const { principal } = request
      if (!principal.isPublishable) return holdPlace(reply, uploads(principal.accountId))
      await holdPlace(reply, uploadsOfSource(findSource(request)))
      await holdPlace(reply, publicUploads(principal.accountId))
    },
    exports: createPlaces(EXPORTS, 'An account', 'exports'),
    eventStreams: createPlaces(EVENT_STREAMS, 'An account', 'streams of events'),
    polls: createPlaces(POLLS, 'An account', 'polls for events'),
  }
}
