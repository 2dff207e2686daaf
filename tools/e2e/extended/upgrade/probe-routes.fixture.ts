import { fetchOpenApi, listRoutes, type Route } from '../../support/openapi'
import type { Tenant } from '../../support/stage'

const nameRoute = ({ method, path }: Route) => `${method} ${path}`

const fillPath = ({ path }: Route, reference: string) =>
  path.replace('{reference}', reference).replaceAll(/\{\w+\}/g, '1')

/** Returns the names of the gateway's operations. */
export const listRouteNames = async ({ client }: Tenant): Promise<Set<string>> =>
  new Set(listRoutes(await fetchOpenApi(client)).map(nameRoute))

/**
 * Sends a request to each GET operation, and to each operation whose name is not in `known`. The body is the
 * documented example, if there is one. Returns the names of the operations that responded with 5xx, by
 * status.
 */
export const probeRoutes = async (
  { client, createLead }: Tenant,
  known: Set<string>,
): Promise<Map<number, string[]>> => {
  const { reference } = await createLead()
  const failed = new Map<number, string[]>()
  for (const route of listRoutes(await fetchOpenApi(client))) {
    if (route.method !== 'GET' && known.has(nameRoute(route))) continue
    const json = route.operation.requestBody?.content['application/json']?.example
    const { status, headers } = await client.request(
      route.method,
      fillPath(route, reference),
      json ? { json } : {},
    )
    if (status < 500) continue
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    failed.set(status, [...(failed.get(status) ?? []), nameRoute(route)])
  }
  return failed
}
