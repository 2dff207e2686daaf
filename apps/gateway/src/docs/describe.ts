import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import type { Scope } from '../auth/authenticate'
import { PROBLEMS, type ProblemKind } from '../http/problem'

export interface Description {
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
  problems?: ProblemKind[]
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

const kindsOf = ({ scope, body, multipart, problems = [] }: Description): ProblemKind[] => [
  'bad-request',
  ...(scope ? (['unauthenticated', 'forbidden'] as const) : []),
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
      : { [answer.type]: { schema: { type: 'string', contentMediaType: answer.type } } },
})

const contentOf = ({ body, multipart }: Description) => {
  if (multipart) return { 'multipart/form-data': { schema: multipart } }
  return {
    'application/json': { schema: body },
    'application/x-www-form-urlencoded': { schema: { ...body } },
  }
}

/** The part of a route that the OpenAPI document is made of. Nothing of it is checked by Fastify itself. */
export const describe = (options: Description): FastifySchema => ({
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
