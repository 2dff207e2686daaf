import { eventually } from '@leadwire/test-kit'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../stage.fixture'
import { FORM, ORIGIN, publish } from './capture.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const make = (json: object) => tenant.client.request('POST', '/manage/tokens', { json })

test('it is made, shown and listed with its fields', async () => {
  const published = { origins: ['https://A.example/', ORIGIN, ORIGIN], honeypot: 'fax', return_url: ORIGIN }
  const { json } = await make({ name: 'Form', publishable: true, ...published })
  const { token, ...record } = (json as { data: { token: string; id: number } }).data
  expect(token).toMatch(/^lw_pub_[\w-]{43}$/)
  expect(record).toMatchObject({
    ...{ publishable: true, scopes: ['leads:create'], honeypot: 'fax', return_url: ORIGIN },
    origins: ['https://a.example', ORIGIN],
  })
  expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(record)
  const audit = await tenant.client.request('GET', '/manage/audit')
  expect(audit.text).toContain(`"origins":{"from":null,"to":["https://a.example","${ORIGIN}"]}`)
})

test.each<[object, string[]]>([
  [{ publishable: true }, ['origins']],
  [{ publishable: true, origins: [] }, ['origins']],
  [
    { publishable: true, origins: ['https://a.example/page', '*', 'null', 'https://*.a.example'] },
    ['origins.0', 'origins.1', 'origins.2', 'origins.3'],
  ],
  [{ publishable: true, origins: [ORIGIN], scopes: ['leads'] }, ['scopes']],
  [{ publishable: true, origins: [ORIGIN], endpoint_id: 1 }, ['endpoint_id']],
  [{ publishable: true, origins: [ORIGIN], return_url: 'javascript:alert(1)' }, ['return_url']],
  [{ publishable: true, origins: [ORIGIN], honeypot: 'a[b]' }, ['honeypot']],
  [{ publishable: true, origins: [ORIGIN], honeypot: 'email' }, ['honeypot']],
  [
    { scopes: ['leads'], origins: [ORIGIN], return_url: ORIGIN, honeypot: 'x' },
    ['honeypot', 'origins', 'return_url'],
  ],
  [{}, ['scopes']],
])('%j is refused', async (fields, wrong) => {
  const { status, json } = await make({ name: 'Form', ...fields })
  expect([status, Object.keys((json as { errors: object }).errors).sort()]).toEqual([422, wrong])
})

test('pages of its origins create leads, and get the reference alone', async () => {
  const { create } = await publish(tenant)
  const { status, json, headers } = await create(LEAD)
  expect([status, json, headers['access-control-allow-origin'], headers['etag']]).toEqual([
    ...[200, { data: { reference: expect.any(String) } }, ORIGIN, undefined],
  ])
  const { email } = LEAD
  expect(await tenant.send('GET', `/leads/${json.data.reference}`)).toMatchObject({ customer: { email } })
  const invalid = await create({ ...LEAD, email: 'x' })
  expect([invalid.status, invalid.headers['access-control-allow-origin']]).toEqual([422, ORIGIN])
  for (const origin of [
    'https://other.example',
    'null',
    `${ORIGIN}.evil.example`,
    'http://www.example.com',
  ]) {
    const refused = await create(LEAD, { origin })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, undefined])
  }
  expect((await create(LEAD, {})).status).toBe(403)
})

test('with an Idempotency-Key it replays the same answer', async () => {
  const { create } = await publish(tenant)
  const headers = { origin: ORIGIN, 'idempotency-key': 'once' }
  const [first, again] = [await create(LEAD, headers), await create(LEAD, headers)]
  expect([again.json, again.headers['idempotency-replayed']]).toEqual([first.json, 'true'])
})

test('it does nothing else', async () => {
  const { token } = await publish(tenant)
  for (const [method, path] of [
    ['GET', '/leads'],
    ['GET', '/manage/tokens'],
    ['POST', '/manage/leads'],
  ] as const) {
    const { status } = await tenant.client.request(method, path, { token, headers: { origin: ORIGIN } })
    expect([path, status]).toEqual([path, 403])
  }
})

test('revoked and expired it works nowhere; the account’s other tokens are no form’s', async () => {
  const { id, create, send } = await publish(tenant)
  await tenant.send('DELETE', `/manage/tokens/${id}`)
  await eventually(async () => expect((await create(LEAD)).status).toBe(401))
  expect((await send({ form: FORM })).status).toBe(404)
  const other = await tenant.client.request('POST', `/capture/${tenant.token}`, { token: '', form: FORM })
  expect(other.status).toBe(404)
})

describe('a preflight', () => {
  const preflight = (origin: string, path = '/leads') =>
    tenant.client.request('OPTIONS', path, {
      token: '',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })

  test('is answered for the origin of a live token', async () => {
    const origin = `https://${tenant.account.id}.example`
    const { token } = await publish(tenant, { origins: [origin] })
    for (const path of ['/leads', `/capture/${token}`]) {
      const { status, headers, text } = await preflight(origin, path)
      expect([status, text]).toEqual([204, ''])
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-max-age': '7200',
      })
      expect(headers['access-control-allow-headers']).toMatch(/Authorization, Content-Type/)
    }
    expect((await preflight(origin, '/manage/tokens')).headers['access-control-allow-origin']).toBeUndefined()
  })

  test('is refused soon after the revocation of its token', async () => {
    const origin = `https://late-${tenant.account.id}.example`
    const { id } = await publish(tenant, { origins: [origin] })
    expect((await preflight(origin)).status).toBe(204)
    await tenant.send('DELETE', `/manage/tokens/${id}`)
    await eventually(async () => expect((await preflight(origin)).status).toBe(405))
  })

  test('is refused for others', async () => {
    const origin = `https://revoked-${tenant.account.id}.example`
    const { id } = await publish(tenant, { origins: [origin] })
    await tenant.send('DELETE', `/manage/tokens/${id}`)
    for (const one of [origin, 'https://nobody.example', 'null', `https://${'x'.repeat(4000)}.example`]) {
      const { status, headers } = await preflight(one)
      expect([status, headers['access-control-allow-origin']]).toEqual([405, undefined])
    }
  })
})
