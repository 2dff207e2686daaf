import type { GatewayConfig } from '../config'
import { startGateway } from '../gateway.fixture'

const NOW = '2026-11-21T09:30:00.123456Z'
const USER = { id: 1, email: 'a@example.com', name: 'A', createdAt: NOW, calendarCreatedAt: NOW }

const scene = async (config: Partial<GatewayConfig>) => {
  const ips: string[] = []
  const gateway = await startGateway(
    {
      leads: {
        listLeads: async ({ pages }) => ({
          results: pages.map(() => ({
            result: { $case: 'page', value: { items: Buffer.from('[]'), count: 0, total: 0, perPage: 20 } },
          })),
        }),
        createLeads: async ({ leads }) => {
          ips.push(...leads.map(({ lead }) => lead!.ip))
          return { results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from('{}') } })) }
        },
      },
    },
    { config: { PUBLIC_URL: undefined, ...config } },
  )
  const lead = {
    name: 'W',
    first_name: 'A',
    last_name: 'L',
    email: 'a@example.com',
    phone: '1',
    postcode: 'M1 1AE',
    referrer: 'Phone',
    status: 'open',
  }
  return {
    gateway,
    pathFor: async (headers: Record<string, string>) =>
      (await gateway.send({ url: '/leads', headers })).json().path as string,
    ipFor: async (remoteAddress: string, headers: Record<string, string> = {}) => {
      await gateway.send({ method: 'POST', url: '/leads', payload: lead, remoteAddress, headers })
      return ips.pop()
    },
  }
}

test('addresses begin with the configured one', async () => {
  const { gateway, pathFor } = await scene({ PUBLIC_URL: 'https://api.example.test/crm' })
  expect(await pathFor({ host: 'evil.example' })).toBe('https://api.example.test/crm/leads')
  await gateway.stop()
})

test("without one, with the request's own; what a stranger forwards is not believed", async () => {
  const { gateway, pathFor } = await scene({})
  expect(await pathFor({ host: 'leads.example:8080' })).toBe('http://leads.example:8080/leads')
  expect(await pathFor({ host: '[::1]:3000' })).toBe('http://[::1]:3000/leads')
  const forwarded = {
    host: 'leads.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
  }
  expect(await pathFor(forwarded)).toBe('http://leads.example/leads')
  expect(await pathFor({ host: 'evil.example/"<>' })).not.toContain('evil')
  await gateway.stop()
})

test('behind a trusted proxy, with what it forwards', async () => {
  const { gateway, pathFor } = await scene({ TRUSTED_PROXIES: ['127.0.0.0/8'] })
  for (const [host, proto, path] of [
    ['leads.example', 'https', 'https://leads.example/leads'],
    ['leads.example', 'HTTPS', 'https://leads.example/leads'],
    ['leads.example, inside:8080', 'https, http', 'https://leads.example/leads'],
    ['leads.example:8443,inside', 'Https,http,http', 'https://leads.example:8443/leads'],
    [' , leads.example', ',https', 'https://leads.example/leads'],
    ['"leads.example"', '"https"', 'https://leads.example/leads'],
    ['[2001:db8::7]:8443, inside', 'http, https', 'http://[2001:db8::7]:8443/leads'],
    ['', '', 'http://inside/leads'],
    [',', ' , ', 'http://inside/leads'],
  ] as const) {
    const headers = { host: 'inside', 'x-forwarded-host': host, 'x-forwarded-proto': proto }
    expect([host, proto, await pathFor(headers)]).toEqual([host, proto, path])
  }
  await gateway.stop()
})

test.each<[string, Partial<GatewayConfig>]>([
  ['https://api.example.test/crm', { PUBLIC_URL: 'https://api.example.test/crm' }],
  ['http://127.0.0.1:3000', { PUBLIC_URL: undefined }],
  ['http://localhost:3000', { PUBLIC_URL: undefined, HOST: 'localhost' }],
  ['http://[::1]:4000', { PUBLIC_URL: undefined, HOST: '::1', PORT: 4000 }],
])('a calendar is at %s, whatever its request says', async (address, config) => {
  const gateway = await startGateway(
    { accounts: { createUserCalendar: async () => ({ user: USER, secret: 'lw_cal_x' }) } },
    { config: { TRUSTED_PROXIES: ['127.0.0.0/8'], ...config } },
  )
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const answer = await gateway.send({ method: 'POST', url: '/manage/users/1/calendar', headers })
  expect(answer.json().data.url).toBe(`${address}/calendars/lw_cal_x.ics`)
  await gateway.stop()
})

test("the visitor's address is the peer's", async () => {
  const { gateway, ipFor } = await scene({})
  expect(await ipFor('203.0.113.7')).toBe('203.0.113.7')
  expect(await ipFor('::ffff:203.0.113.7')).toBe('203.0.113.7')
  expect(await ipFor('2001:db8::7')).toBe('2001:db8::7')
  expect(await ipFor('203.0.113.7', { 'x-forwarded-for': '198.51.100.1' })).toBe('203.0.113.7')
  await gateway.stop()
})

describe('behind trusted proxies', () => {
  const PROXY = '10.0.0.1'
  let behindProxies: Awaited<ReturnType<typeof scene>>
  beforeAll(async () => {
    behindProxies = await scene({
      TRUSTED_PROXIES: ['10.0.0.0/8', 'fd00::/8'],
      CAPTURE_RATE: { requests: 2, windowMs: 3_600_000 },
    })
  })
  afterAll(() => behindProxies.gateway.stop())

  const findVisitor = (forwarded: string, peer = PROXY) =>
    behindProxies.ipFor(peer, { 'x-forwarded-for': forwarded })

  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['1.1.1.1, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['2001:db8::7', '2001:db8::7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['203.0.113.7:', '203.0.113.7'],
    ['"203.0.113.7:51234"', '203.0.113.7'],
    ['  203.0.113.7:51234\t', '203.0.113.7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['"[2001:DB8:0:0::7]:443"', '2001:db8::7'],
    ['2001:db8:0:0:0:0:0:7:443', '2001:db8::7'],
    ['[fe80::7%eth0]:443', 'fe80::7'],
    ['fe80::7%25eth0', 'fe80::7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:cb00:7107]:443', '203.0.113.7'],
    ['203.0.113.7:51234, 10.0.0.2:8080', '203.0.113.7'],
    ['203.0.113.7:51234,10.0.0.2:8080,10.0.0.3', '203.0.113.7'],
    ['2001:db8::7, [fd00::2]:8080, [::ffff:10.0.0.3]:8080', '2001:db8::7'],
    [',203.0.113.7:51234, ,10.0.0.2, ', '203.0.113.7'],
  ])('the visitor of X-Forwarded-For: %s is the first untrusted one, %s', async (forwarded, visitor) => {
    expect(await findVisitor(forwarded)).toBe(visitor)
    expect(await findVisitor(forwarded, `::ffff:${PROXY}`)).toBe(visitor)
  })

  test.each([
    ['1.1.1.1, 203.0.113.7:51234', '203.0.113.7'],
    ['1.1.1.1, 10.0.0.2:8080, 203.0.113.7:51234', '203.0.113.7'],
    ['"1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['"1.1.1.1, 203.0.113.7", 10.0.0.2', '203.0.113.7'],
    ['[1.1.1.1, 203.0.113.7:51234', '203.0.113.7'],
    ['1.1.1.1, unknown', PROXY],
    ['1.1.1.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['1.1.1.1, _hidden:80, 10.0.0.2:8080', '10.0.0.2'],
    ['1.1.1.1, 0x0a000002', PROXY],
    ['1.1.1.1, 10.2', PROXY],
    ['1.1.1.1, 010.0.0.2', PROXY],
    ['unknown', PROXY],
    ['not an address', PROXY],
    ['[]:443', PROXY],
    [':443', PROXY],
    ['', PROXY],
    [',,', PROXY],
    ['1.1.1.1,'.repeat(1500), '1.1.1.1'],
  ])('nothing counts that the visitor may have forged: %s', async (forwarded, visitor) => {
    expect(await findVisitor(forwarded)).toBe(visitor)
  })

  test.each([
    '198.51.100.1',
    '198.51.100.1:51234',
    '[2001:db8::7]:443',
  ])('a stranger who forwards %s is not believed', async (forwarded) => {
    expect(await findVisitor(forwarded, '203.0.113.7')).toBe('203.0.113.7')
  })

  test.each([
    ['203.0.113.8:1', '203.0.113.8:2', '"[::ffff:203.0.113.8]:3"'],
    ['[2001:db8::1]:1', '"[2001:db8::2]:2"', '2001:db8::3'],
    ['203.0.113.9:1, 10.0.0.2:1', '203.0.113.9:2, 10.0.0.3:2', '1.1.1.1, 203.0.113.9'],
    ['1.1.1.1, unknown, 10.0.0.4', '1.1.1.2, unknown, 10.0.0.4:80', '1.1.1.3, none, 10.0.0.4'],
  ])('%s, %s and %s are one visitor to the limits', async (...forwarded) => {
    const statuses = []
    for (const one of forwarded) {
      const response = await behindProxies.gateway.send({
        method: 'POST',
        url: '/capture/form',
        payload: {},
        remoteAddress: PROXY,
        headers: { 'x-forwarded-for': one },
      })
      statuses.push(response.statusCode)
    }
    expect(statuses).toEqual([422, 422, 429])
  })
})
