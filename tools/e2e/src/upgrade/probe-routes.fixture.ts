import { fetchOpenApi, type Route, routesOf } from '../openapi.fixture'
import type { Tenant } from '../stage.fixture'

const nameOf = ({ method, path }: Route) => `${method} ${path}`

const pathOf = ({ path }: Route, reference: string) =>
  path.replace('{reference}', reference).replaceAll(/\{\w+\}/g, '1')

/** The operations that a gateway offers. */
export const routeNames = async ({ client }: Tenant): Promise<Set<string>> =>
  new Set(routesOf(await fetchOpenApi(client)).map(nameOf))

/**
 * Asks the gateway for everything that can be read, and for each operation that is not `known`, with the example of its body.
 * Answers with those that were answered 5xx, by their status.
 */
export const probeRoutes = async (
  { client, createLead }: Tenant,
  known: Set<string>,
): Promise<Map<number, string[]>> => {
  const { reference } = await createLead()
  const failed = new Map<number, string[]>()
  for (const route of routesOf(await fetchOpenApi(client))) {
    if (route.method !== 'GET' && known.has(nameOf(route))) continue
    const json = route.operation.requestBody?.content['application/json']?.example
    const { status, headers } = await client.request(
      route.method,
      pathOf(route, reference),
      json ? { json } : {},
    )
    if (status < 500) continue
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    failed.set(status, [...(failed.get(status) ?? []), nameOf(route)])
  }
  return failed
}
