import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { fetchOpenApi, type Route, routesOf } from '../openapi.fixture'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'

// Routes of the interface and of the management part: if the document forgot one, so would this spec.
const AT_LEAST = [
  'GET /leads',
  'POST /leads',
  'GET /leads/{reference}',
  'PATCH /leads/{reference}',
  'POST /leads/{reference}/appointments',
  'POST /leads/{reference}/callbacks',
  'POST /leads/{reference}/attachments',
  'GET /leads/{reference}/attachments/{id}',
  'GET /leads/{reference}/appointments',
  'GET /leads/{reference}/callbacks',
  'PATCH /leads/{reference}/appointments/{id}',
  'DELETE /leads/{reference}/appointments/{id}',
  'PATCH /leads/{reference}/callbacks/{id}',
  'DELETE /leads/{reference}/callbacks/{id}',
  'GET /leads/{reference}/attachments',
  'GET /leads/statuses',
  'POST /manage/leads',
  'POST /manage/leads/batch',
  'PUT /manage/leads/external/{external_id}',
  'GET /manage/leads/{reference}',
  'GET /manage/leads/{reference}/duplicates',
  'POST /manage/leads/{reference}/duplicate-of',
  'POST /manage/images',
  'GET /manage/account',
  'PATCH /manage/account',
  'GET /manage/reconciliation',
  'GET /manage/users',
  'POST /manage/users',
  'GET /manage/users/{id}',
  'PATCH /manage/users/{id}',
  'DELETE /manage/users/{id}',
  'POST /manage/users/{id}/calendar',
  'DELETE /manage/users/{id}/calendar',
  'GET /manage/tokens',
  'POST /manage/tokens',
  'DELETE /manage/tokens/{id}',
  'GET /manage/webhook-endpoints',
  'POST /manage/webhook-endpoints',
  'GET /manage/webhook-endpoints/{id}',
  'PATCH /manage/webhook-endpoints/{id}',
  'DELETE /manage/webhook-endpoints/{id}',
  'GET /manage/deliveries',
  'GET /manage/deliveries/{id}',
]

let stage: Stage
let tenant: Tenant
let guarded: Route[]
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
  const routes = routesOf(await fetchOpenApi(tenant.client))
  guarded = routes.filter(({ path }) => /^\/(leads|manage)(\/|$)/.test(path))
})
afterAll(() => stage.stop())

const addressOf = (path: string) =>
  path.replace('{reference}', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10').replace('{id}', '999999999')

const ask = ({ method, path }: { method: string; path: string }, authorization?: string) =>
  tenant.client.request(method, addressOf(path), {
    token: '',
    headers: authorization === undefined ? {} : { authorization },
  })

test('the document has every route, and says of each but the open ones that it needs a token', () => {
  const named = guarded.map(({ method, path }) => `${method} ${path}`)
  expect(named).toEqual(expect.arrayContaining(AT_LEAST))
  for (const { operation } of guarded)
    expect(operation.security).toContainEqual({ bearer: [expect.any(String)] })
})

describe('every route', () => {
  const expectRefusal = async (authorization: string | undefined) => {
    for (const route of guarded) {
      const answer = await ask(route, authorization)
      const { status, headers } = answer
      const challenge = headers['www-authenticate']
      expect([route.method, route.path, status, challenge]).toEqual([
        route.method,
        route.path,
        401,
        expect.stringMatching(/^Bearer/),
      ])
      expect(headers['content-type']).toMatch(/^application\/problem\+json/)
      expect(answer.json).toMatchObject({ status: 401, title: 'Unauthorized' })
    }
  }

  test('refuses a request without a token', () => expectRefusal(undefined))

  test.each([
    'Bearer',
    'Bearer ',
    'Bearer nonsense',
    'Bearer a b',
    `Bearer lw_live_${'x'.repeat(40)}`,
    `Bearer ${'x'.repeat(8000)}`,
    'Basic dXNlcjpwYXNz',
    'Bearer ünïcode',
  ])('refuses %s', (authorization) => expectRefusal(Buffer.from(authorization).toString('latin1')))

  test('refuses a token without its scheme, and one with something behind it', async () => {
    await expectRefusal(tenant.token)
    await expectRefusal(`Bearer ${tenant.token}x`)
    await expectRefusal(`Bearer ${tenant.token.slice(0, -1)}`)
  })

  const eventuallyRefused = (token: string) =>
    eventually(async () =>
      expect((await ask({ method: 'GET', path: '/leads' }, `Bearer ${token}`)).status).toBe(401),
    )

  test('refuses a revoked token', async () => {
    const { id, token } = await tenant.newToken({ scopes: ['leads', 'manage'] })
    expect((await ask({ method: 'GET', path: '/leads' }, `Bearer ${token}`)).status).toBe(200)
    await tenant.send('DELETE', `/manage/tokens/${id}`)
    await eventuallyRefused(token)
    await expectRefusal(`Bearer ${token}`)
  })

  test('refuses a token that expired', async () => {
    const expires_at = new Date(Date.now() + 4000).toISOString()
    const { token } = await tenant.newToken({ scopes: ['leads', 'manage'], expires_at })
    expect((await ask({ method: 'GET', path: '/leads' }, `Bearer ${token}`)).status).toBe(200)
    await eventuallyRefused(token)
    await expectRefusal(`Bearer ${token}`)
  })

  test('refuses a token without the scope it needs with 403, and takes one that has it', async () => {
    const tokens = {
      'leads:read': (await tenant.newToken({ scopes: ['leads:read'] })).token,
      leads: (await tenant.newToken({ scopes: ['leads'] })).token,
      manage: (await tenant.newToken({ scopes: ['manage'] })).token,
    }
    for (const route of guarded) {
      const reads = route.method === 'GET'
      const takes = route.path.startsWith('/manage')
        ? ['manage']
        : reads
          ? ['leads:read', 'leads']
          : ['leads']
      for (const [scope, token] of Object.entries(tokens)) {
        const { status, headers } = await ask(route, `Bearer ${token}`)
        const seen = { route: `${route.method} ${route.path}`, scope, refused: status === 403 }
        expect(seen).toEqual({ ...seen, refused: !takes.includes(scope) })
        if (status === 403) expect(headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope"/)
        else expect([200, 404, 422]).toContain(status)
      }
    }
  })
})

test.each(['bearer', 'BEARER', 'bEaReR'])('the scheme may be written %s', async (scheme) => {
  const { status } = await ask({ method: 'GET', path: '/leads' }, `${scheme} ${tenant.token}`)
  expect(status).toBe(200)
})

test('what is open needs no token', async () => {
  for (const path of ['/openapi.json', '/docs', '/healthz', '/readyz']) {
    const { status } = await ask({ method: 'GET', path })
    expect([path, status < 400]).toEqual([path, true])
  }
})

test('a revocation takes effect in the middle of use', async () => {
  const { id, token } = await tenant.newToken({})
  const use = async () => (await tenant.client.request('GET', '/leads', { token })).status
  expect(await use()).toBe(200)
  const busy = new AbortController()
  const load = (async () => {
    while (!busy.signal.aborted) await use()
  })()
  await tenant.send('DELETE', `/manage/tokens/${id}`)
  await eventually(async () => expect(await use()).toBe(401))
  busy.abort()
  await load
})

test('tokens are long, say what they are, are shown once and kept only as a hash', async () => {
  const live = await tenant.newToken({})
  const test = await tenant.newToken({ test: true })
  expect(live.token).toMatch(/^lw_live_[A-Za-z0-9_-]{27,}$/)
  expect(test.token).toMatch(/^lw_test_[A-Za-z0-9_-]{27,}$/)
  const listed = await tenant.client.request('GET', '/manage/tokens')
  expect(listed.text).not.toMatch(/lw_(live|test)_/)
  const database = new Database({ connectionString: stage.system.databases.leads.url })
  await database.connect()
  try {
    const { rows } = await database.query<{ row: string }>('select t::text as row from tokens t')
    expect(rows.length).toBeGreaterThan(2)
    for (const { row } of rows) {
      for (const { token } of [live, test]) {
        expect(row).not.toContain(token)
        expect(row).not.toContain(token.slice('lw_live_'.length))
      }
    }
  } finally {
    await database.end()
  }
  const lines = JSON.stringify(stage.system.logs())
  for (const { token } of [live, test, tenant]) expect(lines).not.toContain(token)
})

test('a test token’s leads are test leads, and so are those with the status test', async () => {
  const { token } = await tenant.newToken({ test: true, scopes: ['leads', 'manage'] })
  for (const path of ['/leads', '/manage/leads'])
    expect(await tenant.send('POST', path, { token, json: LEAD })).toMatchObject({ test: 1, status: 'open' })
  expect(await tenant.createLead({ status: 'test' })).toMatchObject({ test: 1 })
  expect(await tenant.createLead()).toMatchObject({ test: 0 })
})
