import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { ProblemKind } from '../http/problem'
import { describe } from '../validation/fields'

export type Headers = Record<string, TSchema>

export const REQUEST_ID: Headers = {
  'X-Request-Id': Type.String({ description: 'Quote it when you ask us about the request.' }),
}

export const TOKEN_EXPIRES_AT: Headers = {
  'Token-Expires-At': Type.String({
    format: 'date-time',
    description: 'There when the token expires within 14 days: when it does.',
  }),
}

export const IDEMPOTENCY_REPLAYED: Headers = {
  'Idempotency-Replayed': Type.Unsafe({
    type: 'string',
    enum: ['true'],
    description: 'There when the answer is the one that was saved for the Idempotency-Key.',
  }),
}

const RETRY_AFTER: Headers = {
  'Retry-After': Type.Integer({ minimum: 1, description: 'In seconds: when to send the request again.' }),
}

/** Of draft-ietf-httpapi-ratelimit-headers-10. */
export const RATE_LIMIT: Headers = {
  'RateLimit-Policy': Type.String(
    describe(
      'Where the operator has set a limit: how many requests the token may send (`q`) in how many seconds (`w`).',
      '"default";q=600;w=60',
    ),
  ),
  RateLimit: Type.String(
    describe(
      'Where the operator has set a limit: how many requests are left (`r`), and in how many seconds all are there again (`t`).',
      '"default";r=599;t=60',
    ),
  ),
}

/** The headers that only some problems have. */
export const PROBLEM_HEADERS: Partial<Record<ProblemKind, Headers>> = {
  unauthenticated: { 'WWW-Authenticate': Type.String({ description: 'Begins with `Bearer` (RFC 6750).' }) },
  'method-not-allowed': { Allow: Type.String({ description: 'The methods that the address takes.' }) },
  conflict: RETRY_AFTER,
  'rate-limited': { ...RETRY_AFTER, ...RATE_LIMIT },
  unavailable: RETRY_AFTER,
}

/** What an operation does to the record that the entity tag names. */
export type EtagUse = 'read' | 'new' | 'change'

const EXAMPLE = '"3-264574550"'

const header = (description: string) => Type.Optional(Type.String({ description, examples: [EXAMPLE] }))

/** The conditions that a request may have. */
export const CONDITION_HEADERS: Record<EtagUse, { headers?: TObject }> = {
  read: {
    headers: Type.Object({
      'If-None-Match': header(
        'ETags of what you have. While it is the same, the answer is 304 without a body.',
      ),
    }),
  },
  change: {
    headers: Type.Object({
      'If-Match': header(
        'ETags one of which the record must still have. Otherwise nothing is changed, and the answer is 412.',
      ),
    }),
  },
  new: {},
}

export const ETAG_HEADER: Headers = {
  ETag: Type.String(
    describe('Names the state of what is answered: another one as soon as anything of it changes.', EXAMPLE),
  ),
}

export const NOT_MODIFIED = {
  type: 'null',
  description: 'It is what If-None-Match names. There is no body.',
  headers: { ...REQUEST_ID, ...ETAG_HEADER },
}
