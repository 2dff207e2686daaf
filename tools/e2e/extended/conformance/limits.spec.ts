import { brotliDecompressSync } from 'node:zlib'
import { request } from 'undici'
import { FORM, publish } from '../../support/capture'
import { type Stage, startStage, type Tenant } from '../../support/stage'

const PAGE = 'https://app.example.test'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  const daily = { CAPTURE_DAILY: '3', CAPTURE_DAILY_BYTES: '1000' }
  const captures = { CAPTURE_RATE: '5/1h', ...daily, TRUSTED_PROXIES: '127.0.0.1' }
  const others = { RATE_LIMIT: '10/1h', CORS_ORIGINS: PAGE, COMPRESSION: 'true' }
  stage = await startStage({ env: { ...captures, ...others } })
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

test('RATE_LIMIT: a token that exceeds its limit gets 429 with the time to wait', async () => {
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

test('CORS_ORIGINS: a page may use the API, and read its errors', async () => {
  const preflight = await request(`${stage.system.baseUrl}/leads`, {
    method: 'OPTIONS',
    headers: { origin: PAGE, 'access-control-request-method': 'POST' },
  })
  expect([
    preflight.statusCode,
    preflight.headers['access-control-allow-origin'],
    await preflight.body.text(),
  ]).toEqual([204, PAGE, ''])
  const refused = await ask('/leads', { origin: PAGE, authorization: 'Bearer unknown' })
  await refused.body.dump()
  expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([401, PAGE])
})

test('COMPRESSION: a lead is sent with br, and its ETag works in If-Match', async () => {
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

describe('publishable tokens', () => {
  const sender = async () => {
    const { send } = await publish(tenant)
    return (address: string, first_name: string) =>
      send({ form: { ...FORM, first_name }, headers: { 'x-forwarded-for': address } })
  }

  test('CAPTURE_DAILY: a token may create so many leads a day from all addresses; a repeated form does not count', async () => {
    const send = await sender()
    const statuses = []
    for (const name of ['a', 'a', 'b', 'c', 'a', 'd'])
      statuses.push((await send(`10.1.0.${statuses.length}`, name)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    const { headers, json } = await send('10.1.1.1', 'f')
    expect([headers['ratelimit-policy'], headers['ratelimit'], json]).toEqual([
      '"day";q=3;w=86400',
      `"day";r=0;t=${headers['retry-after']}`,
      expect.objectContaining({ status: 429, type: '/problems#rate-limited' }),
    ])
    const leads = await tenant.client.request<{ total: number }>('GET', '/leads')
    expect(leads.json.total).toBe(3)
  })

  test('CAPTURE_DAILY_BYTES: a token may receive so many bytes of files a day', async () => {
    const { send } = await publish(tenant)
    const fields = Object.entries(FORM).map(([name, value]) => ({ name, value }))
    const sendFile = (value: string, address: string) => {
      const file = { name: 'photo', value, fileName: `${value.length}.txt` }
      return send({ multipart: [...fields, file], headers: { 'x-forwarded-for': address } })
    }
    const statuses = []
    for (const size of [600, 500, 400, 1])
      statuses.push((await sendFile('x'.repeat(size), `10.3.0.${size % 250}`)).status)
    expect(statuses).toEqual([200, 429, 200, 429])
    const { headers, json } = await sendFile('x', '10.3.1.1')
    expect([headers['ratelimit-policy'], headers['ratelimit'], json]).toEqual([
      '"bytes";q=1000;qu="content-bytes";w=86400',
      `"bytes";r=0;t=${headers['retry-after']}`,
      expect.objectContaining({ status: 429, detail: expect.stringContaining('1,000 bytes') }),
    ])
    const leads = await tenant.client.request<{ data: { reference: string }[] }>('GET', '/leads')
    // All forms have the same fields, so all of them belong to one lead.
    const [lead, ...others] = leads.json.data
    expect(others).toEqual([])
    const path = `/leads/${lead!.reference}/attachments`
    const attached = await tenant.client.request<{ data: { file_name: string }[] }>('GET', path)
    expect(attached.json.data.map(({ file_name }) => file_name).toSorted()).toEqual(['400.txt', '600.txt'])
  })

  test('CAPTURE_RATE: an address may send so many requests, and a /64 counts as one address', async () => {
    const send = await sender()
    const statuses = []
    for (const part of ['1', '2', '3', 'a:b:c:4', '5', '6'])
      statuses.push((await send(`2001:db8::${part}`, 'a')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    const { headers } = await send('2001:db8::7', 'a')
    expect(headers).toMatchObject({ 'ratelimit-policy': '"capture";q=5;w=3600' })
    expect(headers['ratelimit']).toBe(`"capture";r=0;t=${headers['retry-after']}`)
    expect((await send('2001:db8:0:1::1', 'a')).status).toBe(200)
  })

  test('CAPTURE_RATE: an address may send as many preflights', async () => {
    const preflight = (path: string) =>
      tenant.client.request('OPTIONS', path, {
        token: '',
        headers: {
          origin: 'https://nobody.example',
          'access-control-request-method': 'POST',
          'x-forwarded-for': '10.2.0.1',
        },
      })
    const statuses = []
    for (const path of ['/leads', '/capture/a', '/leads', '/capture/a/stamp', '/leads', '/leads'])
      statuses.push((await preflight(path)).status)
    expect(statuses).toEqual([204, 204, 204, 204, 204, 429])
  })
})
