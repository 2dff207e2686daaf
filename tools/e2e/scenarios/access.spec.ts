import { randomUUID } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../support/client'
import { fillPath } from '../support/furnish'
import { fetchOpenApi, listRoutes, type Route } from '../support/openapi'
import { joinStage, type SharedStage, type Tenant } from '../support/stage'

// Reads the routes from the OpenAPI document, so that a new route is tested, too. Every scope that the table
// below does not list for a route must be refused.

const SCOPES = [
  'leads',
  'leads:read',
  'leads:create',
  'events:read',
  'webhooks',
  'users:read',
  'manage:read',
  'manage',
]

/** The scopes that may use a route. The first matching line applies. */
const OPENED_BY: [route: RegExp, scopes: string[]][] = [
  [/^POST \/leads$/, ['leads', 'leads:create']],
  [/^GET \/leads/, ['leads', 'leads:read']],
  [/^\w+ \/leads\//, ['leads']],
  [/^GET \/token$/, SCOPES],
  [/^GET \/me$/, [...SCOPES, 'sign-in-link']],
  [/^\w+ \/me\//, SCOPES],
  [/^GET \/manage\/events$/, ['manage', 'events:read']],
  [/^GET \/manage\/(webhook-|deliveries)/, ['manage', 'manage:read', 'webhooks']],
  [/^\w+ \/manage\/(webhook-endpoints|deliveries)/, ['manage', 'webhooks']],
  [/^GET \/manage\/users(\/\{id\})?$/, ['manage', 'manage:read', 'users:read']],
  [/^GET \/manage\/leads\/\{reference\}\/(erasure|export)$/, ['manage', 'manage:read']],
  [/^POST \/manage\/leads\/\{reference\}\/erase$/, ['manage']],
  [/^GET \/manage\/figures$/, ['leads', 'leads:read', 'manage', 'manage:read']],
  [/^GET \/manage\/leads/, ['leads', 'leads:read', 'manage', 'manage:read']],
  [/^\w+ \/manage\/leads/, ['leads', 'manage']],
  [/^\w+ \/manage\/views/, ['leads', 'leads:read', 'manage', 'manage:read']],
  [/^GET \/manage\/schedule$/, ['leads', 'leads:read', 'manage', 'manage:read']],
  [/^GET \/manage\//, ['manage', 'manage:read']],
  [/^\w+ \/manage\//, ['manage']],
  [/^POST \/portal-sessions$/, ['portal-link']],
  [/^POST \/sessions$/, ['sign-in-link']],
]

/** The scopes of each role. */
const ROLES = {
  admin: ['leads', 'manage'],
  sales: ['leads', 'users:read'],
  support: ['leads:read', 'webhooks', 'manage:read'],
  viewer: ['leads:read', 'manage:read'],
}

/** Identifiers of records that do not exist. */
const NOWHERE = {
  reference: randomUUID(),
  id: '999999999',
  replay_id: '999999999',
  external_id: 'none',
  name: 'none',
}

let stage: SharedStage
let tenant: Tenant
let routes: { name: string; method: string; path: string; scopes: string[] }[]
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  routes = listRoutes(await fetchOpenApi(tenant.client))
    .filter(({ operation }) => operation.security?.length)
    .map(describeRoute)
    // The routes that open a link come last, because a link opens only once.
    .toSorted((a, b) => Number(opensLink(a)) - Number(opensLink(b)))
})
afterAll(() => stage.stop())

const opensLink = ({ name }: { name: string }) => /^POST .*sessions$/.test(name)

const describeRoute = ({ method, path, operation }: Route) => ({
  name: `${method} ${path}`,
  method,
  path,
  scopes: operation.security!.flatMap(({ bearer }) => bearer!).toSorted(),
})

const listScopes = (name: string) => OPENED_BY.find(([pattern]) => pattern.test(name))?.[1] ?? []

const ask = ({ method, path }: { method: string; path: string }, options: RequestOptions) =>
  tenant.client.request(method, fillPath(path, NOWHERE), options)

const expectUnauthorized = async (authorization?: string) => {
  const headers = authorization === undefined ? {} : { authorization }
  for (const route of routes) {
    const { status, headers: answered, json } = await ask(route, { token: '', headers })
    const seen = { authorization, route: route.name, status, type: answered['content-type'] }
    expect(seen).toEqual({
      ...seen,
      status: 401,
      type: expect.stringMatching(/^application\/problem\+json/),
    })
    expect(answered['www-authenticate']).toMatch(/^Bearer/)
    expect(json).toMatchObject({ status: 401, title: 'Unauthorized' })
  }
}

test('each route, except public ones, refuses missing, invalid, revoked and expired tokens', async () => {
  expect(routes.length).toBeGreaterThanOrEqual(70)
  const scopes = ['leads', 'manage']
  const read = async (token: string) => (await tenant.client.request('GET', '/leads', { token })).status
  // Expires while the requests below are sent.
  const expires_at = new Date(Date.now() + 8000).toISOString()
  const expired = await tenant.newToken({ scopes, expires_at })
  expect(await read(expired.token)).toBe(200)
  await expectUnauthorized()
  const malformed = ['Bearer', 'Bearer ', 'Bearer a b', 'Basic dXNlcjpwYXNz', tenant.token, 'Bearer ünïcode']
  const unknown = [`lw_live_${'x'.repeat(43)}`, `${tenant.token}x`, tenant.token.slice(0, -1)]
  for (const value of [...malformed, ...unknown.map((token) => `Bearer ${token}`)])
    await expectUnauthorized(Buffer.from(value).toString('latin1'))

  const revoked = await tenant.newToken({ scopes })
  expect(await read(revoked.token)).toBe(200)
  await tenant.send('DELETE', `/manage/tokens/${revoked.id}`)
  for (const { token } of [revoked, expired]) {
    await eventually(async () => expect(await read(token)).toBe(401))
    await expectUnauthorized(`Bearer ${token}`)
  }
})

test('a token opens exactly the routes that the document lists for its scope', async () => {
  const expected = (scope: string) => routes.map(({ name }) => [name, listScopes(name).includes(scope)])
  for (const scope of [...SCOPES, 'portal-link', 'sign-in-link'])
    expect(routes.map(({ name, scopes }) => [name, scopes.includes(scope)])).toEqual(expected(scope))

  const tokens = new Map<string, string>()
  for (const scope of SCOPES) tokens.set(scope, (await tenant.newToken({ scopes: [scope] })).token)
  const { id } = await tenant.listen()
  const { url } = await tenant.send<{ url: string }>('POST', `/manage/webhook-endpoints/${id}/portal`)
  tokens.set('portal-link', url.split('#portal=')[1]!)
  const admin = await tenant.newUser('admin')
  tokens.set('sign-in-link', await tenant.newSignInLink(admin.id))
  for (const [scope, token] of tokens) {
    const opened: [route: string, isOpen: boolean][] = []
    for (const route of routes) {
      const { status, headers } = await ask(route, { token })
      expect([scope, route.name, status]).not.toEqual([scope, route.name, 401])
      if (status === 403) expect(headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope"/)
      opened.push([route.name, status !== 403])
    }
    expect({ scope, opened }).toEqual({ scope, opened: expected(scope) })
  }
})

test.each(
  Object.entries(ROLES),
)('a user with the role %s may use exactly the routes of its scopes', async (role, held) => {
  const { id } = await tenant.newUser(role)
  const headers = { cookie: await tenant.signIn(id), 'sec-fetch-site': 'same-origin' }
  const opened: [route: string, isOpen: boolean][] = []
  for (const route of routes) {
    const { status } = await ask(route, { token: '', headers })
    expect([role, route.name, status]).not.toEqual([role, route.name, 401])
    opened.push([route.name, status !== 403])
  }
  const expected = routes.map(({ name }) => [name, held.some((scope) => listScopes(name).includes(scope))])
  expect(opened).toEqual(expected)
})

test('the document, its pages and the probes need no token, and the scheme may be in upper or lower case', async () => {
  for (const path of ['/openapi.json', '/docs', '/healthz', '/readyz'])
    expect([path, (await tenant.client.request('GET', path, { token: '' })).status]).toEqual([path, 200])
  const html = await tenant.client.request('GET', '/docs', { token: '' })
  const sources = [...html.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, source]) => source!)
  expect(sources.length).toBeGreaterThan(1)
  for (const source of sources) {
    const { pathname } = new URL(source, `${stage.system.baseUrl}/docs`)
    const { status } = await tenant.client.request('GET', pathname, { token: '' })
    expect([source, status]).toEqual([source, 200])
  }
  for (const scheme of ['bearer', 'BEARER']) {
    const headers = { authorization: `${scheme} ${tenant.token}` }
    expect(await tenant.client.request('GET', '/leads', { token: '', headers })).toMatchObject({
      status: 200,
    })
  }
})
