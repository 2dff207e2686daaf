import { type BatcherMeters, createFairQueue, TooBusy } from '@leadwire/service-kit'
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'

/** What all requests that are worked on may cost. */
const CAPACITY = 256
/** A request whose call is batched with others costs 1: 50 of them keep all services busy, more of them make larger batches. */
const CALL_COST = 4
/** And 1 more for each so many bytes of its body, which are worked on for as long, and take twenty times as much memory. */
const BYTES_OF_COST = 4 * 1024
/** More of a body costs no more: two as large as they may be are worked on at once. */
const MOST_OF_BODY = 60
/** Each takes some 50 KB with its connection (seen with 2,000 that send 14 KB). */
const WAITING_AT_MOST = 6000
const MAX_WAIT_MS = 3000

interface Weight {
  /** The most bytes of a body. */
  bodyLimit: number
  /** Whether what the request asks of a service is batched with what others ask. */
  isBatched: boolean
}

/** Makes the hook of a route behind which its requests take turns. */
export type TakeTurns = (weight: Weight) => onRequestAsyncHookHandler

const costOf = ({ headers }: FastifyRequest, { bodyLimit, isBatched }: Weight): number => {
  const bytes =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : bodyLimit
  return (isBatched ? 1 : CALL_COST) + Math.min(Math.floor(bytes / BYTES_OF_COST), MOST_OF_BODY)
}

/**
 * Bounds what is worked on at once. A request that is too much waits here, where nothing but its headers was read, and is refused
 * (503) after 3 s. Accounts have equal shares, with one more for whoever comes next.
 *
 * A refusal at once would let clients ask again at once: refusals to 640 connections left a tenth of what is served
 * without them.
 */
export const createTakeTurns = (meters: BatcherMeters | undefined): TakeTurns => {
  const enter = createFairQueue({
    shareOf: (accounts) => CAPACITY / (accounts + 1),
    capacity: CAPACITY,
    maxWaiting: WAITING_AT_MOST,
    maxWaitMs: MAX_WAIT_MS,
    meter: meters?.('request'),
  })
  return (weight) => async (request, reply) => {
    const leave = await enter(request.principal.accountId, costOf(request, weight))
    if (!reply.raw.destroyed) return void reply.raw.once('close', leave)
    leave()
    throw new TooBusy()
  }
}
