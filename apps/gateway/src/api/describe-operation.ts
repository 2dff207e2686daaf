import { grants, SCOPES } from '@leadwire/contracts'
import { FORMATS } from '@leadwire/requests'
import type { ProblemKind } from '@leadwire/service-kit'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { DOCUMENTED_PROBLEMS } from '../http/problem-help'
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
  /** A token needs one of these scopes. null: the operation needs no token. */
  scopes: readonly string[] | null
  params: TSchema | undefined
  query?: TSchema
  /** Whether the operation refuses unknown query parameters. */
  refusesQuery?: boolean
  /** Whether the operation reads the Idempotency-Key. */
  idempotent?: boolean
  /**
   * Adds an ETag to the response. The operation also reads If-None-Match (`read`), If-Match (`change`), or
   * neither (`new`).
   */
  etag?: 'read' | 'new' | 'change'
  /**
   * The schema of a JSON body or a form. The schema becomes a component of the OpenAPI document, named after
   * the schema's title.
   */
  body?: TSchema
  /** Whether the OpenAPI document describes `body` only as JSON, because a form would be hard to write. */
  jsonOnly?: boolean
  multipart?: TSchema
  /** The media types of a body that is streamed. */
  stream?: readonly string[]
  answer: Answer
  /** The problems of the operation that `listProblemKinds` cannot derive from the other properties. */
  problems?: readonly ProblemKind[]
}

/** The security of a route that needs no token. */
export const PUBLIC = { security: [] as { [name: string]: string[] }[] }

/**
 * Describes the response of a problem. All problems with the same status share one response, which is a
 * component of the OpenAPI document.
 */
export const problemResponse = (kind: ProblemKind) => {
  const kinds = (Object.keys(DOCUMENTED_PROBLEMS) as ProblemKind[]).filter(
    (other) => DOCUMENTED_PROBLEMS[other].status === DOCUMENTED_PROBLEMS[kind].status,
  )
  return {
    description: kinds.map((one) => DOCUMENTED_PROBLEMS[one].meaning).join(' Or: '),
    headers: Object.assign({}, REQUEST_ID, ...kinds.map((one) => PROBLEM_HEADERS[one])) as Headers,
    content: { 'application/problem+json': { schema: Problem } },
  }
}

const listProblemKinds = (described: Description): ProblemKind[] => {
  const { scopes, params, query, refusesQuery, idempotent, etag, problems = [] } = described
  const hasBody = described.body ?? described.multipart ?? described.stream
  const kinds: [applies: unknown, ...ProblemKind[]][] = [
    [scopes, 'unauthenticated', 'forbidden', 'rate-limited'],
    [params, 'not-found'],
    // `invalid` also reports an unknown query parameter, and an Idempotency-Key that another request used.
    [query || refusesQuery || idempotent || hasBody, 'invalid'],
    [idempotent, 'conflict'],
    [etag === 'change', 'precondition-failed'],
    [hasBody, 'timeout', 'too-large', 'unsupported-media-type'],
  ]
  const particular = kinds.flatMap(([applies, ...found]) => (applies ? found : []))
  return ['bad-request', ...particular, ...problems, 'internal', 'unavailable', 'late']
}

const describeBytes = (types: readonly string[]) =>
  Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]))

const describeResponse = ({ answer, scopes, idempotent, etag }: Description) => ({
  description: answer.description,
  headers: {
    ...REQUEST_ID,
    ...(scopes && TOKEN_EXPIRES_AT),
    ...(idempotent && IDEMPOTENCY_REPLAYED),
    ...(etag && ETAG_HEADER),
    ...(scopes && RATE_LIMIT),
  },
  content:
    'schema' in answer ? { 'application/json': { schema: answer.schema } } : describeBytes(answer.types),
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

/**
 * Describes the fields of a request in plain JSON Schema, without the formats that only this code base
 * knows.
 */
const documentedFields = (schema: TSchema): TSchema => {
  const { properties, items, additionalProperties: others, propertyNames: names, required = [] } = schema
  if (others?.format)
    return { ...schema, additionalProperties: inJsonSchema(others), propertyNames: inJsonSchema(names) }
  if (items) return { ...schema, items: inJsonSchema(documentedFields(items)) }
  if (!properties) return schema
  const documented = mapFields(schema, (field, name) => ({
    // A required text needs at least one character, because an empty string counts as absent.
    ...(required.includes(name) && isText(field) && { minLength: 1 }),
    ...inJsonSchema(documentedFields(field)),
  }))
  return { ...schema, properties: documented }
}

/**
 * Builds an example of a body. Omits fields that refer to a record of the account, such as a user, because
 * the account may not have that record. These fields have no example.
 */
export const buildExample = (body: TSchema): object => {
  const fields = Object.entries(body['properties'] as Record<string, TSchema>)
  return Object.fromEntries(
    fields.filter(([, { examples }]) => examples).map(([name, { examples }]) => [name, examples[0]]),
  )
}

const describeContent = ({ body, jsonOnly, multipart, stream }: Description) => {
  if (stream) return describeBytes(stream)
  const files = multipart && { 'multipart/form-data': { schema: documentedFields(multipart) } }
  if (!body) return files
  const schema = { ...documentedFields(body), examples: [buildExample(body)] }
  if (jsonOnly) return { 'application/json': { schema } }
  return { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema }, ...files }
}

/**
 * Builds the schema of a route. Only the OpenAPI document uses this schema. Fastify does not validate
 * requests.
 */
export const describeOperation = (described: Description): FastifySchema => {
  const { operationId, tag, summary, description, scopes, params, query, idempotent, etag } = described
  const content = describeContent(described)
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
    description: 'The current ETag is in If-None-Match. The response has no body.',
    headers: { ...REQUEST_ID, ...ETAG_HEADER },
  }
  return {
    operationId,
    tags: [tag],
    summary,
    description: [description, needed].filter(Boolean).join('\n\n'),
    ...(granting ? { security: granting.map((scope) => ({ bearer: [scope] })) } : PUBLIC),
    ...(params && { params }),
    ...(query && { querystring: documentedFields(query) }),
    headers: Type.Partial(Type.Object(headers)),
    ...(content && { body: { content } }),
    response: {
      [described.answer.status ?? 200]: describeResponse(described),
      ...(etag === 'read' && { 304: notModified }),
      ...Object.fromEntries(
        listProblemKinds(described).map((kind) => [DOCUMENTED_PROBLEMS[kind].status, problemResponse(kind)]),
      ),
    },
  }
}
