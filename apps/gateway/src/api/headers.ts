import { type TSchema, Type } from '@sinclair/typebox'
import type { ProblemKind } from '../http/problem'
import { describe, oneOf } from '../validation/fields'

export type Headers = Record<string, TSchema>

const ETAG = '"3-264574550"'

const text = (description: string, example?: string) => Type.String(describe(description, example))

/** The headers that requests may have. */
export const IDEMPOTENCY_KEY: Headers = {
  'Idempotency-Key': Type.String({
    minLength: 1,
    maxLength: 255,
    description:
      'A key of your choice that makes it safe to send the request again: within 24 hours the same request under the same key is answered as it was the first time, with `Idempotency-Replayed: true`, and does nothing further. Another request under the same key is a 422, one that is still being worked on a 409 with Retry-After.',
  }),
}

export const IF_NONE_MATCH: Headers = {
  'If-None-Match': text(
    'ETags of what you have. While it is the same, the answer is 304 without a body.',
    ETAG,
  ),
}

export const IF_MATCH: Headers = {
  'If-Match': text(
    'ETags one of which the record must still have. Otherwise nothing is changed, and the answer is 412.',
    ETAG,
  ),
}

/** The headers of responses. */
export const REQUEST_ID: Headers = { 'X-Request-Id': text('Quote it when you ask us about the request.') }

export const TOKEN_EXPIRES_AT: Headers = {
  'Token-Expires-At': Type.String({
    format: 'date-time',
    description: 'There when the token expires within 14 days: when it does.',
  }),
}

export const IDEMPOTENCY_REPLAYED: Headers = {
  'Idempotency-Replayed': oneOf(
    ['true'],
    'There when the answer is the one that was saved for the Idempotency-Key.',
  ),
}

export const ETAG_HEADER: Headers = {
  ETag: text('Names the state of what is answered: another one as soon as anything of it changes.', ETAG),
}

/** Of draft-ietf-httpapi-ratelimit-headers-10. */
export const RATE_LIMIT: Headers = {
  'RateLimit-Policy': text(
    'Where the operator has set a limit: how many requests the token may send (`q`) in how many seconds (`w`).',
    '"default";q=600;w=60',
  ),
  RateLimit: text(
    'Where the operator has set a limit: how many requests are left (`r`), and in how many seconds all are there again (`t`).',
    '"default";r=599;t=60',
  ),
}

const RETRY_AFTER: Headers = {
  'Retry-After': Type.Integer({ minimum: 1, description: 'In seconds: when to send the request again.' }),
}

/** The headers that only some problems have. */
export const PROBLEM_HEADERS: Partial<Record<ProblemKind, Headers>> = {
  unauthenticated: { 'WWW-Authenticate': text('Begins with `Bearer` (RFC 6750).') },
  'method-not-allowed': { Allow: text('The methods that the address takes.') },
  conflict: RETRY_AFTER,
  'rate-limited': { ...RETRY_AFTER, ...RATE_LIMIT },
  unavailable: RETRY_AFTER,
}
