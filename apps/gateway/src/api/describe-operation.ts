import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import type { Scope } from '../auth/authenticate'
import { PROBLEMS, type ProblemKind } from '../http/problem'
import { documentedFields } from './documented-fields'
import {
  CONDITION_HEADERS,
  ETAG_HEADER,
  type EtagUse,
  type Headers,
  IDEMPOTENCY_REPLAYED,
  NOT_MODIFIED,
  PROBLEM_HEADERS,
  RATE_LIMIT,
  REQUEST_ID,
  TOKEN_EXPIRES_AT,
} from './headers'
import { type Answer, Problem } from './schemas'

export interface Description {
  /** The name that clients made from the document give to the operation. */
  operationId: string
  tag: string
  summary: string
  description?: string
  /** Undefined: no token is needed. */
  scope?: Scope
  params?: TSchema
  query?: TSchema
  /** Whether the operation reads the Idempotency-Key. */
  idempotent?: boolean
  etag?: EtagUse
  /** Of a JSON body or a form. Its title is its name among the document's components. */
  body?: TSchema
  /** Of a multipart/form-data body. */
  multipart?: TSchema
  /** The media types of a body that is read as it arrives. */
  stream?: readonly string[]
  answer: Answer
  /** Problems that do not follow from the rest of the description. */
  problems?: readonly ProblemKind[]
}

/** A route that needs no token. */
export const PUBLIC = { security: [] as { [name: string]: string[] }[] }

const IDEMPOTENCY_KEY = Type.Partial(
  Type.Object({
    'Idempotency-Key': Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A key of your choice that makes it safe to send the request again: within 24 hours the same request under the same key is answered as it was the first time, with `Idempotency-Replayed: true`, and does nothing further. Another request under the same key is a 422, one that is still being worked on a 409 with Retry-After.',
    }),
  }),
)

const KINDS = Object.keys(PROBLEMS) as ProblemKind[]

/** Problems with one status have one response, which is a component of the document. */
export const problemResponse = (kind: ProblemKind) => {
  const kinds = KINDS.filter((other) => PROBLEMS[other].status === PROBLEMS[kind].status)
  return {
    description: kinds.map((one) => PROBLEMS[one].meaning).join(' Or: '),
    headers: Object.assign({}, REQUEST_ID, ...kinds.map((one) => PROBLEM_HEADERS[one])) as Headers,
    content: { 'application/problem+json': { schema: Problem } },
  }
}

const kindsOf = ({
  scope,
  params,
  query,
  idempotent,
  etag,
  body,
  multipart,
  stream,
  problems = [],
}: Description): ProblemKind[] => [
  'bad-request',
  ...(scope ? (['unauthenticated', 'forbidden', 'rate-limited'] as const) : []),
  ...(params ? (['not-found'] as const) : []),
  // An unknown parameter.
  ...(query || scope === 'manage' ? (['invalid'] as const) : []),
  // A key that was used for another request is a 422.
  ...(idempotent ? (['conflict', 'invalid'] as const) : []),
  ...(etag === 'change' ? (['precondition-failed'] as const) : []),
  ...problems,
  ...(body || multipart || stream
    ? (['timeout', 'too-large', 'unsupported-media-type', 'invalid'] as const)
    : []),
  'internal',
  'unavailable',
  'late',
]

const BYTES = { schema: { type: 'string', format: 'binary' } }

const bytesOf = (types: readonly string[]) => Object.fromEntries(types.map((type) => [type, BYTES]))

const answerOf = ({ answer, scope, idempotent, etag }: Description) => ({
  description: answer.description,
  headers: {
    ...REQUEST_ID,
    ...(scope && TOKEN_EXPIRES_AT),
    ...(idempotent && IDEMPOTENCY_REPLAYED),
    ...(etag && ETAG_HEADER),
    ...(scope && RATE_LIMIT),
  },
  content: 'schema' in answer ? { 'application/json': { schema: answer.schema } } : bytesOf(answer.types),
})

/** Fields that name what an account may not have, such as a user, have no example. */
const exampleOf = (body: TSchema): object => {
  const fields = Object.entries(body['properties'] as Record<string, TSchema>)
  return Object.fromEntries(
    fields.filter(([, { examples }]) => examples).map(([name, { examples }]) => [name, examples[0]]),
  )
}

// `/docs` fills in every field of a form. A field without an example stays empty, which counts as absent.
const formField = (field: TSchema): object =>
  field['examples']
    ? field
    : { description: field.description, anyOf: [field, { type: 'string', maxLength: 0 }], default: '' }

const formOf = (body: TSchema): object => {
  const fields = Object.entries(body['properties'] as Record<string, TSchema>)
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, formField(field)]))
  return { ...body, title: `${body.title}Form`, properties }
}

const contentOf = ({ body, multipart, stream }: Description) => {
  if (stream) return bytesOf(stream)
  if (multipart) return { 'multipart/form-data': { schema: documentedFields(multipart) } }
  if (!body) return undefined
  const documented = { ...documentedFields(body), examples: [exampleOf(body)] }
  return {
    'application/json': { schema: documented },
    'application/x-www-form-urlencoded': { schema: formOf(documented) },
  }
}

/** The schema of a route, for the OpenAPI document alone: Fastify checks nothing by it. */
export const describeOperation = (options: Description): FastifySchema => {
  const content = contentOf(options)
  return {
    operationId: options.operationId,
    tags: [options.tag],
    summary: options.summary,
    description: [
      options.description,
      options.scope &&
        `Needs a token with the scope \`${options.scope}\`${options.scope === 'leads:read' ? ' (or `leads`)' : ''}.`,
    ]
      .filter(Boolean)
      .join('\n\n'),
    ...(options.scope ? { security: [{ bearer: [] }] } : PUBLIC),
    ...(options.params && { params: options.params }),
    ...(options.query && { querystring: documentedFields(options.query) }),
    ...(options.idempotent && { headers: IDEMPOTENCY_KEY }),
    ...(options.etag && CONDITION_HEADERS[options.etag]),
    ...(content && { body: { content } }),
    response: {
      [options.answer.status ?? 200]: answerOf(options),
      ...(options.etag === 'read' && { 304: NOT_MODIFIED }),
      ...Object.fromEntries(kindsOf(options).map((kind) => [PROBLEMS[kind].status, problemResponse(kind)])),
    },
  }
}
