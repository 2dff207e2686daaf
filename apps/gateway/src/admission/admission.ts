import { type BatcherMeters, createFairQueue, TooBusy } from '@leadwire/service-kit'
import type { FastifyReply } from 'fastify'
import { ProblemError } from '../http/problem'

/** What all requests in flight may cost. */
const REQUESTS_COST = 256
/** Each takes some 50 KB with its connection (seen with 2,000 that send 14 KB). */
const MAX_WAITING = 6000
const MAX_WAIT_MS = 3000
/** As long as a request may take. */
const MAX_BODY_WAIT_MS = 10_000

const EXPORTS = 4
const EVENT_STREAMS = 32

const atMost = (max: number, what: string) =>
  `An account may have at most ${max} ${what} at once. Try again when one is done.`

/** A queue in which no request waits: what an account has beyond `max` is refused. */
const perAccount = (max: number, refusal: () => Error): Enter => {
  const enter = createFairQueue({ shareOf: () => max, maxWaiting: 0, maxWaitMs: 0 })
  return (accountId) =>
    enter(accountId).catch(() => {
      throw refusal()
    })
}

const tooMany = (max: number, what: string) => () =>
  new ProblemError('rate-limited', atMost(max, what), { 'retry-after': '5' })

type Enter = ReturnType<typeof createFairQueue>

/** Each queue resolves to the function that gives a place back. */
export interface Admission {
  requests: Enter
  largeBodies: Enter
  uploads: Enter
  exports: Enter
  eventStreams: Enter
}

/**
 * What this copy of the gateway does at once, by account.
 *
 * A request that exceeds its account's share waits. A refusal at once would let clients send the request again at once: refusals to
 * 640 connections left a tenth of what is served without them. Files and streams last as long as their clients want, so nothing waits
 * for them.
 */
export const createAdmission = (options: {
  maxUploads: number
  meters?: BatcherMeters | undefined
}): Admission => {
  const { maxUploads, meters } = options
  return {
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
    uploads: perAccount(maxUploads, tooMany(maxUploads, 'uploads')),
    exports: perAccount(EXPORTS, tooMany(EXPORTS, 'exports')),
    eventStreams: perAccount(EVENT_STREAMS, tooMany(EVENT_STREAMS, 'streams of events')),
  }
}

/** Holds a place until the response has ended, or its connection. */
export const holdPlace = async (reply: FastifyReply, place: Promise<() => void>): Promise<void> => {
  const leave = await place
  if (!reply.raw.destroyed) return void reply.raw.once('close', leave)
  leave()
  throw new TooBusy()
}
