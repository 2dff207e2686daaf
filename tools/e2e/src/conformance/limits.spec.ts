import { brotliDecompressSync } from 'node:zlib'
import { request } from 'undici'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

const PAGE = 'https://app.example.test'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ env: { RATE_LIMIT: '10/1h', CORS_ORIGINS: PAGE, COMPRESSION: 'true' } })
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  request(`${stage.system.baseUrl}${path}`, {
    method: method as 'GET',
    headers: { authorization: `Bearer ${tenant.token}`, ...headers },
  })

test('RATE_LIMIT: a token has its requests, and is told when there are more', async () => {
  const left = []
  for (let sent = 0; sent < 10; sent++) {
    const { statusCode, headers, body } = await ask('/leads')
    await body.dump()
    expect([statusCode, headers['ratelimit-policy']]).toEqual([200, '"default";q=10;w=3600'])
    left.push(Number(/;r=(\d+);/.exec(String(headers['ratelimit']))?.[1]))
  }
  expect(left).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
  const refused = await ask('/leads')
  expect([refused.statusCode, await refused.body.json()]).toMatchObject([
    429,
    { type: '/problems#rate-limited' },
  ])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3500)
  const other = await stage.newTenant()
  expect((await other.client.request('GET', '/leads')).status).toBe(200)
})

test('CORS_ORIGINS: a page may use the API, and read what it refuses', async () => {
  const preflight = await request(`${stage.system.baseUrl}/leads`, {
    method: 'OPTIONS',
    headers: { origin: PAGE, 'access-control-request-method': 'POST' },
  })
  expect([
    preflight.statusCode,
    preflight.headers['access-control-allow-origin'],
    await preflight.body.text(),
  ]).toEqual([...[204, PAGE, '']])
  const refused = await ask('/leads', { origin: PAGE, authorization: 'Bearer unknown' })
  await refused.body.dump()
  expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([401, PAGE])
})

test('COMPRESSION: a lead is sent as br, and its tag changes it', async () => {
  const { reference } = await tenant.createLead({
    first_name: 'A'.repeat(255),
    last_name: 'B'.repeat(255),
    name: 'C'.repeat(255),
  })
  const path = `/leads/${reference}`
  const read = await ask(path, { 'accept-encoding': 'br' })
  const bytes = Buffer.from(await read.body.arrayBuffer())
  expect(read.headers['content-encoding']).toBe('br')
  expect(JSON.parse(String(brotliDecompressSync(bytes)))).toMatchObject({ data: { reference } })
  const etag = String(read.headers['etag'])
  expect(etag).toMatch(/\+br"$/)
  const change = () =>
    tenant.client.request('PATCH', path, { json: { value: 5 }, headers: { 'if-match': etag } })
  expect([(await change()).status, (await change()).status]).toEqual([200, 412])
})
