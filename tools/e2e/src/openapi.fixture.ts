import type { Client } from './client'

type Schema = Record<string, unknown>
type Media = Record<string, { schema: Schema; example?: Record<string, unknown> }>

export type Operation = {
  operationId: string
  security?: Record<string, string[]>[]
  description?: string
  parameters?: Schema[]
  requestBody?: { content: Media }
  responses: Record<string, { content?: Media }>
}

export type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export type Route = { method: string; path: string; operation: Operation }

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete']

export async function fetchOpenApi(client: Client): Promise<OpenApi> {
  const answer = await client.request<OpenApi>('GET', '/openapi.json', { token: '' })
  expect(answer.status).toBe(200)
  return answer.json
}

/** Every operation of the document. */
export function routesOf({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      method: method.toUpperCase(),
      path,
      operation: item[method]!,
    })),
  )
}
