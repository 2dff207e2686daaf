import { eventually, type Receiver } from '@leadwire/test-kit'
import { FORM, publish } from '../../support/capture'
import type { Part } from '../../support/client'
import { SAMPLES } from '../../support/samples'
import { LEAD, type Lead, type Stage, startStage, type Tenant } from '../../support/stage'

type Page = { data: Lead[]; path: string; first_page_url: string }
type Linked = { url: string }

const PNG: Part = { name: 'file', value: SAMPLES[1]!.bytes, fileName: 'a.png' }
const FORGED = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }

let stage: Stage
let tenant: Tenant
let endpoint: { receiver: Receiver; id: number }
beforeAll(async () => {
  stage = await startStage({
    env: { PUBLIC_URL: 'https://leads.example.com/api/', ASSETS_URL: 'https://cdn.example.com/lw' },
  })
})
beforeEach(async () => {
  tenant = await stage.newTenant()
  endpoint = await tenant.listen({ events: ['attachment.added'] })
})
afterAll(() => stage?.stop())

/** Restarts the gateway with other settings. */
const restartGateway = async (settings: Record<string, string>) => {
  Object.assign(stage.system.services.find(({ name }) => name === 'gateway')!.env, settings)
  await stage.system.restart('gateway')
}

const list = async (headers: Record<string, string>) =>
  (await tenant.client.request<Page>('GET', '/leads', { headers })).json

const attach = (reference: string, headers: Record<string, string>) =>
  tenant.send<Linked>('POST', `/leads/${reference}/attachments`, {
    headers: { 'idempotency-key': 'the same', ...headers },
    multipart: [{ name: 'name', value: 'Survey' }, PNG],
  })

const sendForm = async (headers: Record<string, string>) => {
  const form = await publish(tenant)
  const fields = Object.entries(FORM).map(([name, value]) => ({ name, value }))
  expect((await form.send({ multipart: [...fields, PNG], headers })).status).toBe(200)
}

/**
 * Sends requests with these headers. Returns the base URLs of the API in all resulting events, stored
 * responses, exports and links.
 */
const findLinks = async (headers: Record<string, string>) => {
  const { reference } = await tenant.createLead()
  const user = await tenant.send<{ id: number }>('POST', '/manage/users', {
    json: { name: 'Sam', email: 'sam@example.com' },
  })
  const first = await attach(reference, headers)
  const replayed = await attach(reference, {})
  await sendForm(headers)
  await eventually(() => expect(endpoint.receiver.requests).toHaveLength(2))
  const events = endpoint.receiver.requests.map(({ body }) => JSON.parse(String(body)).data as Linked)
  const portal = `/manage/webhook-endpoints/${endpoint.id}/portal`
  const exported = await tenant.send<{ attachments: Linked[] }>('GET', `/manage/leads/${reference}/export`, {
    headers,
  })
  const links = [
    first,
    replayed,
    ...events,
    ...exported.attachments,
    await tenant.send<Linked>('POST', portal, { headers }),
    await tenant.send<Linked>('POST', `/manage/users/${user.id}/calendar`, { headers }),
  ]
  return links.map(({ url }) => url.replace(/\/(leads\/|console#|calendars\/).*/, ''))
}

const readVisitorAddress = async (forwardedFor: string) =>
  (await tenant.send('POST', '/leads', { headers: { 'x-forwarded-for': forwardedFor }, json: LEAD }))['ip']

describe('with a public address', () => {
  test('the addresses of pages begin with it, whatever the request says', async () => {
    const page = await list(FORGED)
    expect(page.path).toBe('https://leads.example.com/api/leads')
    expect(page.first_page_url).toBe('https://leads.example.com/api/leads?page=1')
  })

  test('events, stored responses, exports and links begin with it, too', async () => {
    expect(await findLinks(FORGED)).toEqual(Array(7).fill('https://leads.example.com/api'))
  })

  test('images have addresses below the assets address', async () => {
    const { url } = await tenant.send<Linked>('POST', '/manage/images', { multipart: [PNG] })
    expect(url).toMatch(/^https:\/\/cdn\.example\.com\/lw\/images\/[0-9a-f-]{36}\.png$/)
  })
})

describe('without a public address and without trusted proxies', () => {
  beforeAll(() => restartGateway({ PUBLIC_URL: '' }))

  test('the addresses of pages have the Host of the request', async () => {
    expect((await list({})).path).toBe(`${stage.system.baseUrl}/leads`)
    expect((await list({ host: 'api.example.com' })).first_page_url).toBe(
      'http://api.example.com/leads?page=1',
    )
  })

  test('X-Forwarded headers are ignored', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    expect((await list(headers)).path).toBe(`${stage.system.baseUrl}/leads`)
    expect(await readVisitorAddress('203.0.113.9')).toBe('127.0.0.1')
  })

  test('events, stored responses, exports and links have the address on which the gateway listens', async () => {
    expect(await findLinks(FORGED)).toEqual(Array(7).fill(stage.system.baseUrl))
  })
})

describe('without a public address, behind trusted proxies', () => {
  beforeAll(() => restartGateway({ PUBLIC_URL: '', TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' }))

  test('the addresses of pages have the address that the client used', async () => {
    const headers = { 'x-forwarded-host': 'api.example.com, inside', 'x-forwarded-proto': 'HTTPS, http' }
    expect((await list(headers)).first_page_url).toBe('https://api.example.com/leads?page=1')
  })

  test('events, stored responses, exports and links have the address on which the gateway listens', async () => {
    expect(await findLinks(FORGED)).toEqual(Array(7).fill(stage.system.baseUrl))
  })

  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['2001:db8::7', '2001:db8::7'],
    ['203.0.113.9:51234, 10.1.2.3:8080', '203.0.113.9'],
    ['"[2001:db8::7]:443"', '2001:db8::7'],
  ])('X-Forwarded-For: %s: the last untrusted address is the visitor', async (header, visitor) => {
    expect(await readVisitorAddress(header)).toBe(visitor)
  })
})
