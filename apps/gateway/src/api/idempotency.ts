import { createHash } from 'node:crypto'
import type { Idempotency } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'

const BARE = /^[\x21\x23-\x7e][\x20-\x7e]*$/
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

const keyOf = (header: string): string => {
  const quoted = QUOTED.exec(header)
  if (quoted) return quoted[1]!.replace(/\\(["\\])/g, '$1')
  return BARE.test(header) ? header : ''
}

/** Bare or a structured-field string (draft-ietf-httpapi-idempotency-key-header-07). Throws bad_request. */
export const idempotencyKey = ({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined => {
  if (raw.headers['idempotency-key'] === undefined) return undefined
  // From the raw headers, because Node joins two keys into a third.
  const [header = '', ...others] = raw.rawHeaders.filter(
    (_, at, all) => at % 2 === 1 && /^idempotency-key$/i.test(all[at - 1]!),
  )
  const key = keyOf(header.trim())
  if (others.length === 0 && key.length >= 1 && key.length <= 255) return key
  throw new ServiceError(
    'bad_request',
    'The Idempotency-Key must be one of 1 to 255 printable ASCII characters.',
  )
}

// Two bodies with the same members in different orders are the same request.
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** SHA-256 of the method, the address (references in lower case) and the parsed content. */
export const requestFingerprint = (request: FastifyRequest, content: unknown): Buffer => {
  const path = request.url.split('?', 1)[0]!.toLowerCase().replace(/\/+$/, '')
  return createHash('sha256')
    .update(`${request.method} ${path}\n${JSON.stringify(content, inOrder)}`)
    .digest()
}

/** What a service needs to give a repeated request its first response. */
export const idempotencyOf = (request: FastifyRequest, content: unknown): Idempotency | undefined => {
  const key = idempotencyKey(request)
  return key === undefined
    ? undefined
    : { tokenId: request.principal.tokenId, key, fingerprint: requestFingerprint(request, content) }
}

export const markReplayed = (reply: FastifyReply): void => void reply.header('idempotency-replayed', 'true')

/** The JSON of a response. */
export interface Saved {
  body: Uint8Array
  replayed?: boolean | undefined
}

/** The JSON of a response, with the header that marks a saved one. */
export const replayable = (reply: FastifyReply, { body, replayed }: Saved): Uint8Array => {
  if (replayed) markReplayed(reply)
  return body
}
