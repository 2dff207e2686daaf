import { describe, enumeration } from '@leadwire/requests'
import type { ProblemKind } from '@leadwire/service-kit'
import { type TSchema, Type } from '@sinclair/typebox'

export type Headers = Record<string, TSchema>

const ETAG = '"3-264574550"'

const text = (description: string, example?: string) => Type.String(describe(description, example))

// Headers of requests.
export const IDEMPOTENCY_KEY: Headers = {
  'Idempotency-Key': Type.String({
    minLength: 1,
    maxLength: 255,
    description:
      'A key of your choice that makes a request safe to repeat. Within 24 hours, the same request with the same key returns the saved response with `Idempotency-Replayed: true` and has no further effect. A different request with the same key is a 422. If the first request is still in flight, the response is a 409 with Retry-After.',
  }),
}

export const IF_NONE_MATCH: Headers = {
  'If-None-Match': text(
    'ETags of stored responses. If the current ETag is in this list, the response is 304 without a body.',
    ETAG,
  ),
}

export const IF_MATCH: Headers = {
  'If-Match': text(
    'ETags of the lead, or `*` for any ETag. The change applies only if the current ETag is in this list. Otherwise the response is 412.',
    ETAG,
  ),
}

// Headers of responses.
export const REQUEST_ID: Headers = {
  'X-Request-Id': text('The ID of the request. Quote it in support requests.'),
}

export const TOKEN_EXPIRES_AT: Headers = {
  'Token-Expires-At': Type.String({
    format: 'date-time',
    description: 'When the token expires. Sent only during the last 14 days. ISO 8601, UTC.',
  }),
}

export const IDEMPOTENCY_REPLAYED: Headers = {
  'Idempotency-Replayed': enumeration(
    ['true'],
    'Present if this is the saved response of an earlier request with the same Idempotency-Key.',
  ),
}

export const ETAG_HEADER: Headers = {
  ETag: text('The version of the resource. It changes whenever the response would change.', ETAG),
}

/** The headers of draft-ietf-httpapi-ratelimit-headers-10. */
export const RATE_LIMIT: Headers = {
  'RateLimit-Policy': text(
    'The rate limit: `q` requests in `w` seconds. Sent only if the operator has set a limit.',
    '"default";q=600;w=60',
  ),
  RateLimit: text(
    'The remaining quota: `r` requests. The quota is full again in `t` seconds. Sent only if the operator has set a limit.',
    '"default";r=599;t=60',
  ),
}

const RETRY_AFTER: Headers = {
  'Retry-After': Type.Integer({ minimum: 1, description: 'Seconds to wait before repeating the request.' }),
}

/** The headers that only responses with certain problems have. */
export const PROBLEM_HEADERS: Partial<Record<ProblemKind, Headers>> = {
  unauthenticated: { 'WWW-Authenticate': text('A challenge that starts with `Bearer` (RFC 6750).') },
  'method-not-allowed': { Allow: text('The methods that the path supports.') },
  conflict: RETRY_AFTER,
  'rate-limited': { ...RETRY_AFTER, ...RATE_LIMIT },
  unavailable: RETRY_AFTER,
}
