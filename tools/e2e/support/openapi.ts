import type { Client } from './client'

type Schema = Record<string, unknown>
type Media = Record<string, { schema: Schema; example?: Record<string, unknown> }>

export type Operation = {
  operationId: string
  security?: Record<string, string[]>[]
  description?: string
  parameters?: Schema[]
  requestBody?: { content: Media }
  responses: Record<string, Response | { $ref: string }>
  'x-codeSamples'?: { lang: string; label: string; source: string }[]
}

type Response = { content?: Media; headers?: Record<string, object> }

export type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
}

export type Route = { method: string; path: string; operation: Operation }

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete']

export async function fetchOpenApi(client: Client): Promise<OpenApi> {
  const answer = await client.request<OpenApi>('GET', '/openapi.json', { token: '' })
  expect(answer.status).toBe(200)
  return answer.json
}

/** Returns the documented response of an operation for a status. Resolves references to shared components. */
export function findResponse(
  document: OpenApi,
  { responses }: Operation,
  status: string,
): Response | undefined {
  const response = responses[status]
  return response && '$ref' in response
    ? document.components.responses[response.$ref.split('/').pop()!]
    : response
}

/** Lists all operations of the document. */
export function listRoutes({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      method: method.toUpperCase(),
      path,
      operation: item[method]!,
    })),
  )
}
