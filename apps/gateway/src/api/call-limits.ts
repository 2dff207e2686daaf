// A request passes its deadline, its actor and its Idempotency-Key to each call that it makes to a service.

import { createHash } from 'node:crypto'
import type { Idempotency } from '@leadwire/contracts'
import { type CallLimits, ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request times out. */
    deadline: Date
  }
}

/**
 * How long a request may take from the arrival of its headers to its response. Requests with files have other
 * limits, because their time depends on the size of the file.
 */
const REQUEST_LIMIT_MS = 10_000

/** Sets the deadline of each request. */
export const setDeadlines = (app: FastifyInstance, limitMs = REQUEST_LIMIT_MS): void => {
  app.decorateRequest('deadline', null as unknown as Date)
  app.addHook('onRequest', (request, _reply, done) => {
    request.deadline = new Date(Date.now() + limitMs)
    done()
  })
}

const BARE = /^[\x21\x23-\x7e][\x20-\x7e]*$/
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

/** Returns the key in a header, or an empty string if the header is malformed. */
const parseKey = (header: string): string => {
  const quoted = QUOTED.exec(header)
  if (quoted) return quoted[1]!.replace(/\\(["\\])/g, '$1')
  return BARE.test(header) ? header : ''
}

/**
 * Reads the Idempotency-Key. The key may have quotes, as a structured-field string has
 * (draft-ietf-httpapi-idempotency-key-header-07). Returns undefined without the header. Throws `bad_request`
 * if the header is malformed or repeated.
 */
export const readIdempotencyKey = ({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined => {
  if (raw.headers['idempotency-key'] === undefined) return undefined
  // Reads the raw headers, because Node joins two Idempotency-Key headers into a single value.
  const [header = '', ...others] = raw.rawHeaders.filter(
    (_, at, all) => at % 2 === 1 && /^idempotency-key$/i.test(all[at - 1]!),
  )
  const key = parseKey(header.trim())
  if (others.length === 0 && key.length >= 1 && key.length <= 255) return key
  throw new ServiceError(
    'bad_request',
    'Send one Idempotency-Key header with 1 to 255 printable ASCII characters.',
  )
}

// Sorts the members, so that two bodies that differ only in the order of their members have equal
// fingerprints.
const sortMembers = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value

/**
 * Returns the SHA-256 of the method, the path in lower case, and the parsed content. The path is in lower
 * case, because the reference of a lead in a path is case-insensitive.
 */
export const requestFingerprint = (request: FastifyRequest, content: unknown): Buffer => {
  const path = request.url.split('?', 1)[0]!.toLowerCase().replace(/\/+$/, '')
  return createHash('sha256')
    .update(`${request.method} ${path}\n${JSON.stringify(content, sortMembers)}`)
    .digest()
}

/**
 * Returns the data that a service needs to recognise a repeated request and return the saved response.
 * Undefined without an Idempotency-Key.
 */
export const readIdempotency = (request: FastifyRequest, content: unknown): Idempotency | undefined => {
  const key = readIdempotencyKey(request)
  return key === undefined
    ? undefined
    : { tokenId: request.principal.tokenId, key, fingerprint: requestFingerprint(request, content) }
}

export const markReplayed = (reply: FastifyReply): void => void reply.header('idempotency-replayed', 'true')

/** A response of a service. The response is either new or a saved response. */
export interface Saved {
  body: Uint8Array
  replayed?: boolean | undefined
}

/** Returns the JSON of a response. Marks a saved response with a header. */
export const renderSaved = (reply: FastifyReply, { body, replayed }: Saved): Uint8Array => {
  if (replayed) markReplayed(reply)
  return body
}

// Returns a signal that aborts if the connection is closed before the response has ended. Replaces Fastify's
// `request.signal`, which aborts as soon as the body has been read (seen with Fastify 5.12 on Node 20).
const createGoneSignal = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  const abort = () => {
    if (!raw.writableFinished) controller.abort()
  }
  if (raw.destroyed) abort()
  else raw.once('close', abort)
  return controller.signal
}

/**
 * Returns the limits of the calls that a request makes. A call ends at the request's deadline, or when the
 * connection of the request is closed. Each call carries the request's actor and Idempotency-Key.
 */
export const createCallLimits = (reply: FastifyReply, idempotency?: Idempotency): CallLimits => {
  const { principal, id, deadline } = reply.request
  let signal: AbortSignal | undefined
  return {
    deadline,
    actor: principal && {
      tokenId: principal.tokenId,
      tokenName: principal.name,
      userId: principal.userId,
      requestId: id,
    },
    idempotency,
    onReplayed: () => markReplayed(reply),
    isGone: () => reply.raw.destroyed,
    goneSignal: () => {
      signal ??= createGoneSignal(reply)
      return signal
    },
  }
}
