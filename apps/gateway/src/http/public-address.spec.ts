import type { GatewayConfig } from '../config'
import { startGateway } from '../gateway.fixture'

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
  const forwarded = { host: 'inside', 'x-forwarded-host': 'leads.example', 'x-forwarded-proto': 'https' }
  expect(await pathFor(forwarded)).toBe('https://leads.example/leads')
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

test('or the first untrusted one that trusted proxies name', async () => {
  const { gateway, ipFor } = await scene({ TRUSTED_PROXIES: ['10.0.0.0/8'] })
  const forwarded = (text: string) => ({ 'x-forwarded-for': text })
  expect(await ipFor('10.0.0.1', forwarded('198.51.100.1'))).toBe('198.51.100.1')
  expect(await ipFor('::ffff:10.0.0.1', forwarded('198.51.100.1'))).toBe('198.51.100.1')
  expect(await ipFor('10.0.0.1', forwarded('1.1.1.1, 198.51.100.1, 10.0.0.2'))).toBe('198.51.100.1')
  expect(await ipFor('10.0.0.1', forwarded('not an address'))).toBe('10.0.0.1')
  expect(await ipFor('203.0.113.7', forwarded('198.51.100.1'))).toBe('203.0.113.7')
  await gateway.stop()
})
