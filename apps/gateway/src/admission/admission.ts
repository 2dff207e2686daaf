/*
 * Limits how much work of each account this copy of the gateway does at once. A request whose body has
 * arrived waits here until it may begin. Its calls may then wait for a batch (docs/architecture.md lists all
 * queues).
 *
 * A request is refused at once, without waiting, in two cases:
 *
 * - Too little memory is free for the body of the request. If the request waited, its body would already use
 *   the memory.
 * - The account has the maximum number of uploads, exports, streams or polls in flight. Each of them takes a
 *   place of the account, and keeps this place for a long time.
 *
 * Anybody can send requests without a token, or with the publishable token of a public page. Such requests
 * use a separate queue, separate places and separate memory, so that they cannot block an account's other
 * requests. Each visitor, by IP address, gets only a share of this memory and a few places for files.
 */
import { type BatcherMeter, type BatcherMeters, createFairQueue, TooBusy } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import { findSource, type Source } from './rate-limits'

const MEBIBYTE = 1024 * 1024
/**
 * The maximum size of a body with a publishable token, in bytes. Also the maximum size of all fields of a
 * website form with files.
 */
export const PUBLIC_BODY_BYTES = 64 * 1024

const MAX_WAIT_MS = 3000

/**
 * Four uploads are enough for a family or an office that sends forms from one IP address at the same time.
 */
const UPLOADS_PER_SOURCE = 4
const EXPORTS = 4
const EVENT_STREAMS = 32
const POLLS = 1000

/**
 * The cost of a request whose call is sent in a batch. The queue admits 256 such requests at once. This is
 * more than enough to leave no service idle, because 50 such requests keep all services busy.
 */
export const BATCHED_CALL_COST = 1
/** The cost of a request that makes a separate call. */
export const UNARY_CALL_COST = 4
/**
 * A body adds 1 to the cost of its request for each 4 KiB. The gateway needs as much time for 4 KiB of a body
 * as for a batched call, and twenty times as much memory.
 */
const BYTES_PER_COST = 4 * 1024
/**
 * The maximum that a body adds to the cost. With this maximum, a request with the largest body costs at most
 * 64: 60 for its body, and UNARY_CALL_COST for its call. Two such requests fit into 128, the half of the
 * queue that an account has while no other account has requests.
 */
const MAX_BODY_COST = 60

/**
 * Makes the queue of requests. Accounts have equal shares, and one share is kept free for the next account. A
 * request beyond its account's share waits. Refusing the request would cost more than waiting, because
 * clients repeat a refused request at once. When the gateway refused 640 connections, throughput fell to a
 * tenth.
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
 * Makes the function that reserves memory for a body, and refuses a body that does not fit. The function
 * bounds the bytes of all bodies in memory. The holder is the account or the visitor that sends the body. The
 * share of each holder has room for at least one body of the `largest` size.
 */
const createBodyMemory = <Holder>(capacity: number, largest: number, meter: BatcherMeter | undefined) =>
  createFairQueue<Holder>({
    computeShare: (holders) => Math.max(largest, capacity / (holders + 1)),
    capacity,
    meter,
  })

/**
 * Makes the function that takes a place for a holder. The function rejects with `rate-limited` if the holder
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
 * Takes a place, and releases it when the response has ended or the connection is closed. Throws TooBusy if
 * the connection is already closed.
 */
export const holdPlace = async (reply: FastifyReply, place: Promise<() => void>): Promise<void> => {
  const leave = await place
  if (!reply.raw.destroyed) return void reply.raw.once('close', leave)
  leave()
  throw new TooBusy()
}

/** All requests without a token share the turns of one account, which does not exist. */
const NO_ACCOUNT = 0

/** Returns whether anybody can send such a request: without a token, or with a publishable token. */
const isPublic = (principal: FastifyRequest['principal'] | null): boolean =>
  principal === null || principal.isPublishable

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
     * Waits until a request whose body has arrived may begin. The request counts against its account's share
     * until the response has ended. Throws TooBusy if the request has waited for 3 s, or if too many requests
     * wait.
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
      const { bodyBytes, callCost, accountId = principal?.accountId ?? NO_ACCOUNT } = request
      const cost = callCost + Math.min(Math.floor(bodyBytes / BYTES_PER_COST), MAX_BODY_COST)
      const queue = isPublic(principal) ? publicRequests : requests
      return holdPlace(reply, queue(accountId, cost))
    },
    /**
     * Reserves memory for a body until the response has ended. Throws TooBusy if too little memory is free.
     */
    holdBodyMemory: (reply: FastifyReply, bytes: number): Promise<void> => {
      const { request } = reply
      const { principal } = request
      if (isPublic(principal)) return holdPlace(reply, publicBodies(findSource(request), bytes))
      return holdPlace(reply, bodies(principal.accountId, bytes))
    },
    /**
     * Takes a place for an upload until the response has ended. An upload with a publishable token takes a
     * place of the visitor and a place of the account. Throws `rate-limited` if one of these places is not
     * free.
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
