import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import type { Scope } from '../auth/authenticate'
import { PROBLEMS, type ProblemKind } from '../http/problem'

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
  headers?: TSchema
  /** Of a JSON body; forms are read by the same schema. */
  body?: TSchema
  /** Of a multipart/form-data body. */
  multipart?: TSchema
  answer: { description: string; schema: TSchema | { $ref: string } } | { description: string; type: string }
  /** Those of its own, beside the ones that follow from the rest. */
  problems?: readonly ProblemKind[]
}

/** A route that needs no token. */
export const PUBLIC = { security: [] as { [name: string]: string[] }[] }

const problemResponse = (kinds: ProblemKind[]) => ({
  description: kinds.map((kind) => PROBLEMS[kind].meaning).join(' '),
  content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } },
})

const problemResponses = (kinds: ProblemKind[]) => {
  const statuses = [...new Set(kinds.map((kind) => PROBLEMS[kind].status))]
  const withStatus = (status: number) => kinds.filter((kind) => PROBLEMS[kind].status === status)
  return Object.fromEntries(statuses.map((status) => [status, problemResponse(withStatus(status))]))
}

const kindsOf = ({ scope, params, body, multipart, problems = [] }: Description): ProblemKind[] => [
  'bad-request',
  ...(scope ? (['unauthenticated', 'forbidden'] as const) : []),
  ...(params ? (['not-found'] as const) : []),
  ...problems,
  ...(body || multipart ? (['too-large', 'unsupported-media-type', 'invalid'] as const) : []),
  'internal',
  'unavailable',
  'late',
]

const answerOf = (answer: Description['answer']) => ({
  description: answer.description,
  content:
    'schema' in answer
      ? { 'application/json': { schema: answer.schema } }
      : { [answer.type]: { schema: { type: 'string', format: 'binary' } } },
})

/** The fields that have an example of their own. One that names what an account may not have, a user above all, has none. */
const exampleOf = (body: TSchema): object => {
  const fields = Object.entries(body['properties'] as Record<string, TSchema>)
  return Object.fromEntries(
    fields.filter(([, { examples }]) => examples).map(([name, { examples }]) => [name, examples[0]]),
  )
}

// `/docs` fills in every field of a form. What is optional and has no example stays empty, which counts as absent.
const formOf = (body: TSchema): object => {
  const fields = Object.entries(body['properties'] as Record<string, TSchema>)
  const withDefault = fields.map(([name, field]): [string, object] => {
    const empty = field['type'] === 'array' ? [] : ''
    return [name, field['examples'] ? field : { ...field, default: empty }]
  })
  return { ...body, properties: Object.fromEntries(withDefault), examples: [exampleOf(body)] }
}

const contentOf = ({ body, multipart }: Description) => {
  if (multipart) return { 'multipart/form-data': { schema: multipart } }
  if (!body) return {}
  // The document has the examples of a schema beside it, as those of the whole body.
  return {
    'application/json': { schema: { ...body, examples: [exampleOf(body)] } },
    'application/x-www-form-urlencoded': { schema: formOf(body) },
  }
}

/** The part of a route that the OpenAPI document is made of. Nothing of it is checked by Fastify itself. */
export const describe = (options: Description): FastifySchema => ({
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
  ...(options.query && { querystring: options.query }),
  ...(options.headers && { headers: options.headers }),
  ...((options.body || options.multipart) && { body: { content: contentOf(options) } }),
  response: { 200: answerOf(options.answer), ...problemResponses(kindsOf(options)) },
})
