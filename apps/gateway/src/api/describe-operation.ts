import { grants, SCOPES } from '@leadwire/contracts'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { PROBLEMS, type ProblemKind } from '../http/problem'
import { FORMATS } from '../validation/formats'
import {
  ETAG_HEADER,
  type Headers,
  IDEMPOTENCY_KEY,
  IDEMPOTENCY_REPLAYED,
  IF_MATCH,
  IF_NONE_MATCH,
  PROBLEM_HEADERS,
  RATE_LIMIT,
  REQUEST_ID,
  TOKEN_EXPIRES_AT,
} from './headers'
import { type Answer, Problem } from './schemas'

export interface Description {
  operationId: string
  tag: string
  summary: string
  description?: string
  /** The scopes of which a token needs one; null needs no token. */
  scopes: readonly string[] | null
  params: TSchema | undefined
  query?: TSchema
  /** Whether the operation reads the Idempotency-Key. */
  idempotent?: boolean
  /** What the operation does to the record that the entity tag names. */
  etag?: 'read' | 'new' | 'change'
  /** Of a JSON body or a form. Its title is its name among the document's components. */
  body?: TSchema
  /** Whether the document leaves out the form, which has no good way to write the body. */
  jsonOnly?: boolean
  multipart?: TSchema
  /** The media types of a body that is read as it arrives. */
  stream?: readonly string[]
  answer: Answer
  /** Problems that do not follow from the rest of the description. */
  problems?: readonly ProblemKind[]
}

/** A route that needs no token. */
export const PUBLIC = { security: [] as { [name: string]: string[] }[] }

/** Problems with one status have one response, which is a component of the document. */
export const problemResponse = (kind: ProblemKind) => {
  const kinds = (Object.keys(PROBLEMS) as ProblemKind[]).filter(
    (other) => PROBLEMS[other].status === PROBLEMS[kind].status,
  )
  return {
    description: kinds.map((one) => PROBLEMS[one].meaning).join(' Or: '),
    headers: Object.assign({}, REQUEST_ID, ...kinds.map((one) => PROBLEM_HEADERS[one])) as Headers,
    content: { 'application/problem+json': { schema: Problem } },
  }
}

/** Whether an operation refuses what it does not know in a query: those of the management API do. */
export const refusesQuery = (scopes: Description['scopes']): boolean =>
  scopes?.some((scope) => scope.startsWith('manage')) ?? false

const kindsOf = (described: Description): ProblemKind[] => {
  const { scopes, params, query, idempotent, etag, problems = [] } = described
  const hasBody = described.body ?? described.multipart ?? described.stream
  const kinds: [applies: unknown, ...ProblemKind[]][] = [
    [scopes, 'unauthenticated', 'forbidden', 'rate-limited'],
    [params, 'not-found'],
    // An unknown parameter, or a key that was used for another request.
    [query || refusesQuery(scopes) || idempotent || hasBody, 'invalid'],
    [idempotent, 'conflict'],
    [etag === 'change', 'precondition-failed'],
    [hasBody, 'timeout', 'too-large', 'unsupported-media-type'],
  ]
  const particular = kinds.flatMap(([applies, ...found]) => (applies ? found : []))
  return ['bad-request', ...particular, ...problems, 'internal', 'unavailable', 'late']
}

const bytesOf = (types: readonly string[]) =>
  Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]))

const answerOf = ({ answer, scopes, idempotent, etag }: Description) => ({
  description: answer.description,
  headers: {
    ...REQUEST_ID,
    ...(scopes && TOKEN_EXPIRES_AT),
    ...(idempotent && IDEMPOTENCY_REPLAYED),
    ...(etag && ETAG_HEADER),
    ...(scopes && RATE_LIMIT),
  },
  content: 'schema' in answer ? { 'application/json': { schema: answer.schema } } : bytesOf(answer.types),
})

const mapFields = (schema: TSchema, change: (field: TSchema, name: string) => object): object => {
  const fields = Object.entries(schema['properties'] as Record<string, TSchema>)
  return Object.fromEntries(fields.map(([name, field]) => [name, change(field, name)]))
}

const isText = ({ type, format, enum: words }: TSchema) => type === 'string' && format !== 'binary' && !words

const inJsonSchema = ({ format, ...rest }: TSchema) => {
  const { schema = format && { format } } = FORMATS[format] ?? {}
  return { ...rest, ...schema }
}

/** The fields of a request in terms of JSON Schema alone. */
const documentedFields = (schema: TSchema): TSchema => {
  const { properties, items, additionalProperties: others, required = [] } = schema
  if (others?.format) return { ...schema, additionalProperties: inJsonSchema(others) }
  if (items) return { ...schema, items: inJsonSchema(documentedFields(items)) }
  if (!properties) return schema
  const documented = mapFields(schema, (field, name) => ({
    // An empty text counts as absent.
    ...(required.includes(name) && isText(field) && { minLength: 1 }),
    ...inJsonSchema(documentedFields(field)),
  }))
  return { ...schema, properties: documented }
}

/** Fields that name what an account may not have, such as a user, have no example. */
export const exampleOf = (body: TSchema): object => {
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

const contentOf = ({ body, jsonOnly, multipart, stream }: Description) => {
  if (stream) return bytesOf(stream)
  const files = multipart && { 'multipart/form-data': { schema: documentedFields(multipart) } }
  if (!body) return files
  const schema = { ...documentedFields(body), examples: [exampleOf(body)] }
  if (jsonOnly) return { 'application/json': { schema } }
  const form = { ...schema, title: `${body.title}Form`, properties: mapFields(schema, formField) }
  return { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema: form }, ...files }
}

/** The schema of a route, for the OpenAPI document alone: Fastify checks nothing by it. */
export const describeOperation = (described: Description): FastifySchema => {
  const { operationId, tag, summary, description, scopes, params, query, idempotent, etag } = described
  const content = contentOf(described)
  const headers = {
    ...(idempotent && IDEMPOTENCY_KEY),
    ...(etag === 'read' && IF_NONE_MATCH),
    ...(etag === 'change' && IF_MATCH),
  }
  const granting = scopes && [...new Set([...scopes, ...SCOPES.filter((scope) => grants([scope], scopes))])]
  const needed =
    granting && `Needs a token with the scope ${granting.map((scope) => `\`${scope}\``).join(' or ')}.`
  const notModified = {
    type: 'null',
    description: 'It is what If-None-Match names. There is no body.',
    headers: { ...REQUEST_ID, ...ETAG_HEADER },
  }
  return {
    ...{ operationId, tags: [tag], summary },
    description: [description, needed].filter(Boolean).join('\n\n'),
    ...(granting ? { security: granting.map((scope) => ({ bearer: [scope] })) } : PUBLIC),
    ...(params && { params }),
    ...(query && { querystring: documentedFields(query) }),
    headers: Type.Partial(Type.Object(headers)),
    ...(content && { body: { content } }),
    response: {
      [described.answer.status ?? 200]: answerOf(described),
      ...(etag === 'read' && { 304: notModified }),
      ...Object.fromEntries(kindsOf(described).map((kind) => [PROBLEMS[kind].status, problemResponse(kind)])),
    },
  }
}
