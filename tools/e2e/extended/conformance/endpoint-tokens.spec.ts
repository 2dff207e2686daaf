import { randomUUID } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../../support/client'
import { fetchOpenApi, listRoutes, type Route } from '../../support/openapi'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

/**
 * The operations that a token for one endpoint may use in addition to those on the endpoint itself.
 * CLOSED_TO_ENDPOINT lists the operations on the endpoint that the token may not use.
 */
const OPEN_TO_ENDPOINT = [
  'GET /token',
  'GET /me',
  'GET /manage/webhook-endpoints',
  'GET /manage/webhook-endpoint-health',
  'GET /manage/webhook-sources',
  'GET /manage/deliveries',
  'GET /manage/deliveries/{id}',
  'POST /manage/deliveries/{id}/retry',
]
const CLOSED_TO_ENDPOINT = [
  'DELETE /manage/webhook-endpoints/{id}',
  'POST /manage/webhook-endpoints/{id}/portal',
]

const isOpenToEndpoint = (name: string) =>
  OPEN_TO_ENDPOINT.includes(name) ||
  (name.includes(' /manage/webhook-endpoints/{id}') && !CLOSED_TO_ENDPOINT.includes(name))

let stage: SharedStage
let tenant: Tenant
let routes: (Route & { name: string })[]
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  routes = listRoutes(await fetchOpenApi(tenant.client))
    .filter(({ operation }) => operation.security?.length)
    .map((route) => ({ ...route, name: `${route.method} ${route.path}` }))
})
afterAll(() => stage.stop())

/**
 * Fills the parameters of a path. A parameter that `given` lacks gets the id of a record that does not exist.
 */
const filled = (path: string, given: Record<string, string | number> = {}) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(given[name] ?? (name === 'reference' ? randomUUID() : 999_999_999)),
  )

/** Returns the status that a request for a record of another endpoint should get. */
const expectStatus = ({ name, path }: { name: string; path: string }) => {
  if (!isOpenToEndpoint(name)) return 403
  return path.includes('{') ? 404 : 200
}

/**
 * Returns whether a status shows that the route is `open` or `closed` to the token. Returns any other status
 * unchanged.
 */
const classifyAccess = (path: string, status: number) => {
  if (status === 403) return 'closed'
  // A path with any parameter except `{id}` names a record that does not exist, so an open route returns 404.
  const isComplete = !/\{(?!id\})/.test(path)
  const isOpen = !isComplete || status < 400 || status === 409 || status === 422
  return isOpen ? 'open' : String(status)
}

const readExample = ({ operation }: Route): RequestOptions => {
  const media = operation.requestBody?.content['application/json']
  return media ? { json: media.example } : {}
}

describe('a token for one endpoint', () => {
  type Side = { endpoint: number; delivery: number; url: string }
  let own: Side
  let foreign: Side
  let token: string
  beforeAll(async () => {
    tenant = await stage.newTenant()
    const sides = await Promise.all([tenant.listen(), tenant.listen()])
    await tenant.createLead()
    ;[own, foreign] = (await Promise.all(
      sides.map(async ({ id, receiver }) => {
        const path = `/manage/deliveries?endpoint_id=${id}&status=delivered`
        const delivery = await eventually(
          async () => (await tenant.send<{ id: number }[]>('GET', path))[0]!.id,
        )
        return { endpoint: id, delivery, url: receiver.url }
      }),
    )) as [Side, Side]
    const fields = { scopes: ['webhooks'], endpoint_id: own.endpoint }
    token = (await tenant.newToken(fields)).token
  })

  /**
   * Sends a request with the id of one side's endpoint or delivery. If the operation has the query parameter
   * `endpoint_id`, sends the id of the endpoint there, too.
   */
  const ask = (route: Route, { endpoint, delivery }: Side) => {
    const id = route.path.startsWith('/manage/deliveries') ? delivery : endpoint
    const names = (route.operation.parameters ?? []).filter((one) => one['in'] === 'query')
    const query = names.some(({ name }) => name === 'endpoint_id') ? `?endpoint_id=${endpoint}` : ''
    const options = { ...readExample(route), token }
    return tenant.client.request(route.method, filled(route.path, { id }) + query, options)
  }

  const describeOwn = ({ method, path }: Route) => {
    const options = { json: { description: 'Ours' }, token }
    return tenant.client.request(method, filled(path, { id: own.endpoint }), options)
  }

  const readView = async ({ endpoint, delivery }: Side) => {
    const path = `/manage/webhook-endpoints/${endpoint}`
    const list = await tenant.client.request('GET', `/manage/deliveries?endpoint_id=${endpoint}`)
    return [
      await tenant.send('GET', path),
      await tenant.send('GET', `/manage/deliveries/${delivery}`),
      list.json,
    ]
  }

  test('cannot read or change another endpoint by any route', async () => {
    const before = await readView(foreign)
    for (const route of routes) {
      const { status, text } = await ask(route, foreign)
      expect([route.name, status]).toEqual([route.name, expectStatus(route)])
      expect([route.name, text]).not.toEqual([route.name, expect.stringContaining(foreign.url)])
      expect(text).not.toMatch(new RegExp(`"endpoint_id":${foreign.endpoint}\\b`))
    }
    expect(await readView(foreign)).toEqual(before)
  })

  test('reads and manages its own endpoint', async () => {
    const statuses: [route: string, is: string][] = []
    for (const route of routes) {
      const { status } = await (route.method === 'PATCH' ? describeOwn(route) : ask(route, own))
      statuses.push([route.name, classifyAccess(route.path, status)])
    }
    expect(statuses).toEqual(routes.map(({ name }) => [name, isOpenToEndpoint(name) ? 'open' : 'closed']))
    const list = async (path: string) =>
      (await tenant.client.request<{ data: Record<string, unknown>[] }>('GET', path, { token })).json.data
    expect(await list('/manage/webhook-endpoints')).toMatchObject([{ id: own.endpoint, description: 'Ours' }])
    expect(await list('/manage/webhook-endpoint-health')).toMatchObject([{ endpoint_id: own.endpoint }])
    const ids = (await list('/manage/deliveries')).map(({ endpoint_id }) => endpoint_id)
    expect(ids).toContain(own.endpoint)
    expect(ids).not.toContain(foreign.endpoint)
  })

  test.each([
    { events: ['lead.created', 'lead.updated'] },
    { leads: 'all' },
    { url: 'https://a.example/', events: ['lead.updated'] },
  ])('cannot change which events the endpoint gets: %j', async (json) => {
    const path = `/manage/webhook-endpoints/${own.endpoint}`
    expect((await tenant.client.request('PATCH', path, { json, token })).status).toBe(403)
    expect(await tenant.send('GET', path)).toMatchObject({ url: own.url, events: ['lead.created'] })
  })

  test('shows its scope and endpoint everywhere', async () => {
    const expected = { scopes: ['webhooks'], endpoint_id: own.endpoint }
    const mine = await tenant.client.request<{ data: { id: number } }>('GET', '/token', { token })
    expect(mine.json.data).toMatchObject(expected)
    const { id } = mine.json.data
    expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(
      expect.objectContaining({ id, ...expected }),
    )
    expect(await tenant.send('GET', '/manage/audit')).toContainEqual(
      expect.objectContaining({
        action: 'token.created',
        target: { type: 'token', id },
        changes: expect.objectContaining({
          scopes: { from: null, to: ['webhooks'] },
          endpoint_id: { from: null, to: own.endpoint },
        }),
      }),
    )
  })

  test.each([
    ['an additional scope', ['webhooks', 'leads'], () => own.endpoint],
    ['another scope', ['manage'], () => own.endpoint],
    ['an unknown endpoint', ['webhooks'], () => 999_999_999],
    ['an invalid endpoint id', ['webhooks'], () => 'x'],
  ])('cannot be created with %s', async (_, scopes, endpoint) => {
    const json = { name: 'Spec', scopes, endpoint_id: endpoint() }
    const { status, json: answer } = await tenant.client.request('POST', '/manage/tokens', { json })
    expect([status, answer]).toEqual([
      422,
      expect.objectContaining({ errors: { endpoint_id: [expect.any(String)] } }),
    ])
  })

  test('finds nothing after its endpoint was deleted', async () => {
    await tenant.send('DELETE', `/manage/webhook-endpoints/${own.endpoint}`)
    const status = async (path: string) => (await tenant.client.request('GET', path, { token })).status
    expect(await status(`/manage/webhook-endpoints/${own.endpoint}`)).toBe(404)
    const { json } = await tenant.client.request('GET', '/manage/webhook-endpoints', { token })
    expect(json).toEqual({ data: [] })
  })
})
