import { randomUUID } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../client'
import { fetchOpenApi, type Route, routesOf } from '../openapi.fixture'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

// Every route of the document is tried: a new one, too, is refused to each scope that the tables do not give it to.

const SCOPES = ['leads', 'leads:read', 'leads:create', 'events:read', 'webhooks', 'manage:read', 'manage']

/** The scopes that open a route. The first line that matches counts. */
const OPENED_BY: [route: RegExp, scopes: string[]][] = [
  [/^POST \/leads$/, ['leads', 'leads:create']],
  [/^GET \/leads/, ['leads', 'leads:read']],
  [/^\w+ \/leads\//, ['leads']],
  [/^GET \/token$/, SCOPES],
  [/^GET \/manage\/events$/, ['manage', 'events:read']],
  [/^GET \/manage\/(webhook-|deliveries)/, ['manage', 'manage:read', 'webhooks']],
  [/^\w+ \/manage\/(webhook-endpoints|deliveries)/, ['manage', 'webhooks']],
  [/^GET \/manage\//, ['manage', 'manage:read']],
  [/^\w+ \/manage\//, ['manage']],
  [/^POST \/portal-sessions$/, ['portal-link']],
]

/** What a token of one endpoint may do: this, and no more than this below its endpoint. */
const OPEN_TO_ENDPOINT = [
  'GET /token',
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
  routes = routesOf(await fetchOpenApi(tenant.client))
    .filter(({ operation }) => operation.security?.length)
    .map((route) => ({ ...route, name: `${route.method} ${route.path}` }))
})
afterAll(() => stage.stop())

const scopesOf = (name: string): string[] => OPENED_BY.find(([pattern]) => pattern.test(name))?.[1] ?? []

/** An address; what is not given is nowhere. */
const filled = (path: string, given: Record<string, string | number> = {}) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(given[name] ?? (name === 'reference' ? randomUUID() : 999_999_999)),
  )

const exampleOf = ({ operation }: Route): RequestOptions => {
  const media = operation.requestBody?.content['application/json']
  return media ? { json: media.example } : {}
}

test('the document names the scopes of each route', () => {
  expect(routes.length).toBeGreaterThan(50)
  expect(
    routes.map(({ name, operation }) => [name, operation.security!.flatMap(({ bearer }) => bearer!).sort()]),
  ).toEqual(routes.map(({ name }) => [name, [...scopesOf(name)].sort()]))
})

test.each(SCOPES)('a token with the scope %s does what it includes, and nothing else', async (scope) => {
  const { token } = await tenant.newToken({ scopes: [scope] })
  const found: [route: string, isRefused: boolean][] = []
  for (const { name, method, path } of routes) {
    const { status } = await tenant.client.request(method, filled(path), { token })
    expect([name, status]).not.toEqual([name, 401])
    found.push([name, status === 403])
  }
  expect(found).toEqual(routes.map(({ name }) => [name, !scopesOf(name).includes(scope)]))
})

test('a portal link opens its session, and nothing else', async () => {
  const { id } = await tenant.listen()
  const { url } = await tenant.send<{ url: string }>('POST', `/manage/webhook-endpoints/${id}/portal`)
  const token = url.split('#portal=')[1]!
  const others = routes.filter(({ path }) => path !== '/portal-sessions')
  for (const { name, method, path } of others) {
    const { status } = await tenant.client.request(method, filled(path, { id }), { token })
    expect([name, status]).toEqual([name, 403])
  }
})

describe('a token of one endpoint', () => {
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

  /** The request with the ids of one side, and the endpoint's wherever a query may name one. */
  const ask = (route: Route, { endpoint, delivery }: Side) => {
    const id = route.path.startsWith('/manage/deliveries') ? delivery : endpoint
    const names = (route.operation.parameters ?? []).filter((one) => one['in'] === 'query')
    const query = names.some(({ name }) => name === 'endpoint_id') ? `?endpoint_id=${endpoint}` : ''
    const options = { ...exampleOf(route), token }
    return tenant.client.request(route.method, filled(route.path, { id }) + query, options)
  }

  const viewOf = async ({ endpoint, delivery }: Side) => {
    const path = `/manage/webhook-endpoints/${endpoint}`
    const list = await tenant.client.request('GET', `/manage/deliveries?endpoint_id=${endpoint}`)
    return [
      await tenant.send('GET', path),
      await tenant.send('GET', `/manage/deliveries/${delivery}`),
      list.json,
    ]
  }

  test('finds no other, by no route, and changes nothing there', async () => {
    const before = await viewOf(foreign)
    for (const route of routes) {
      const { status, text } = await ask(route, foreign)
      const isOpen = isOpenToEndpoint(route.name)
      const expected = !isOpen ? 403 : route.path.includes('{') ? 404 : 200
      expect([route.name, status]).toEqual([route.name, expected])
      expect([route.name, text]).not.toEqual([route.name, expect.stringContaining(foreign.url)])
      expect(text).not.toMatch(new RegExp(`"endpoint_id":${foreign.endpoint}\\b`))
    }
    expect(await viewOf(foreign)).toEqual(before)
  })

  test('sees and manages its own', async () => {
    const statuses: [route: string, is: string][] = []
    for (const route of routes) {
      // Whatever else a path names does not exist.
      const isComplete = !/\{(?!id\})/.test(route.path)
      const body = route.name.startsWith('PATCH') ? { json: { description: 'Ours' } } : undefined
      const { status } = body
        ? await tenant.client.request(route.method, filled(route.path, { id: own.endpoint }), {
            ...body,
            token,
          })
        : await ask(route, own)
      const isFound = isComplete ? status < 400 || status === 409 || status === 422 : status !== 403
      statuses.push([route.name, status === 403 ? 'closed' : isFound ? 'open' : String(status)])
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
  ])('does not change what the endpoint is sent: %j', async (json) => {
    const path = `/manage/webhook-endpoints/${own.endpoint}`
    expect((await tenant.client.request('PATCH', path, { json, token })).status).toBe(403)
    expect(await tenant.send('GET', path)).toMatchObject({ url: own.url, events: ['lead.created'] })
  })

  test('says in every place what it may do', async () => {
    const expected = { scopes: ['webhooks'], endpoint_id: own.endpoint }
    const mine = await tenant.client.request<{ data: { id: number } }>('GET', '/token', { token })
    expect(mine.json.data).toMatchObject(expected)
    const { id } = mine.json.data
    expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(
      expect.objectContaining({ id, ...expected }),
    )
    expect(await tenant.send('GET', '/manage/audit')).toContainEqual(
      expect.objectContaining({
        ...{ action: 'token.created', target: { type: 'token', id } },
        changes: expect.objectContaining({
          scopes: { from: null, to: ['webhooks'] },
          endpoint_id: { from: null, to: own.endpoint },
        }),
      }),
    )
  })

  test.each([
    ['another scope beside it', ['webhooks', 'leads'], () => own.endpoint],
    ['another scope', ['manage'], () => own.endpoint],
    ['no endpoint', ['webhooks'], () => 999_999_999],
    ['no number', ['webhooks'], () => 'x'],
  ])('is not made with %s', async (_, scopes, endpoint) => {
    const json = { name: 'Spec', scopes, endpoint_id: endpoint() }
    const { status, json: answer } = await tenant.client.request('POST', '/manage/tokens', { json })
    expect([status, answer]).toEqual([
      422,
      expect.objectContaining({ errors: { endpoint_id: [expect.any(String)] } }),
    ])
  })

  test('finds nothing once its endpoint is deleted', async () => {
    await tenant.send('DELETE', `/manage/webhook-endpoints/${own.endpoint}`)
    const status = async (path: string) => (await tenant.client.request('GET', path, { token })).status
    expect(await status(`/manage/webhook-endpoints/${own.endpoint}`)).toBe(404)
    const { json } = await tenant.client.request('GET', '/manage/webhook-endpoints', { token })
    expect(json).toEqual({ data: [] })
  })
})
