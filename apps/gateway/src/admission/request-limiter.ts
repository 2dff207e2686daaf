import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { type Admission, holdPlace } from './admission'

/** A request whose call is batched with others costs 1: 50 of them keep all services busy, more of them make larger batches. */
const CALL_COST = 4
/** And 1 more for each so many bytes of its body, which take as much time, and twenty times as much memory. */
const BYTES_OF_COST = 4 * 1024
/** A larger body costs no more: two bodies of the largest size are in flight at once. */
const MAX_BODY_COST = 60

interface Weight {
  /** The most bytes of a body. */
  bodyLimit: number
  /** Whether the request's call of a service is batched with the calls of others. */
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
