import { SAMPLES } from '../files/samples.fixture'
import { LEAD, type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'

type Page = { data: Lead[]; path: string; first_page_url: string }

const png = SAMPLES[1]!.bytes

const onStage = (env: Record<string, string>) => {
  const set = {} as { stage: Stage; tenant: Tenant }
  beforeAll(async () => {
    set.stage = await startStage({ env })
    set.tenant = await set.stage.newTenant()
  })
  afterAll(() => set.stage.stop())
  return {
    list: async (headers: Record<string, string>) =>
      (await set.tenant.client.request<Page>('GET', '/leads', { headers })).json,
    attachmentUrl: async (headers: Record<string, string>) => {
      const { reference } = await set.tenant.createLead()
      const { url } = await set.tenant.send<{ url: string }>('POST', `/leads/${reference}/attachments`, {
        headers,
        multipart: [
          { name: 'name', value: 'a' },
          { name: 'file', value: png, fileName: 'a.png' },
        ],
      })
      return url.replace(reference, 'REFERENCE').replace(/\d+$/, 'ID')
    },
    imageUrl: async () =>
      (
        await set.tenant.send<{ url: string }>('POST', '/manage/images', {
          multipart: [{ name: 'file', value: png, fileName: 'a.png' }],
        })
      ).url,
    ip: async (forwardedFor: string) =>
      (
        await set.tenant.send('POST', '/leads', {
          headers: { 'x-forwarded-for': forwardedFor },
          json: LEAD,
        })
      )['ip'],
    base: () => set.stage.system.baseUrl,
  }
}

describe('without a public address and without trusted proxies', () => {
  const { list, attachmentUrl, ip, base } = onStage({})

  test('addresses are the request’s own, by its Host', async () => {
    expect((await list({})).path).toBe(`${base()}/leads`)
    expect((await list({ host: 'api.example.com' })).first_page_url).toBe(
      'http://api.example.com/leads?page=1',
    )
    expect(await attachmentUrl({ host: 'api.example.com:8443' })).toBe(
      'http://api.example.com:8443/leads/REFERENCE/attachments/ID',
    )
  })

  test('nobody’s X-Forwarded headers are believed', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    expect((await list(headers)).path).toBe(`${base()}/leads`)
    expect(await ip('203.0.113.9')).toBe('127.0.0.1')
  })
})

describe('behind trusted proxies', () => {
  const { list, ip } = onStage({ TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' })

  test('addresses are those that the client used', async () => {
    const headers = { 'x-forwarded-host': 'api.example.com', 'x-forwarded-proto': 'https' }
    expect((await list(headers)).first_page_url).toBe('https://api.example.com/leads?page=1')
  })

  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['2001:db8::7', '2001:db8::7'],
  ])('of X-Forwarded-For: %s the first untrusted one from behind is the visitor', async (header, visitor) => {
    expect(await ip(header)).toBe(visitor)
  })
})

describe('with a public address', () => {
  const { list, attachmentUrl, imageUrl } = onStage({
    PUBLIC_URL: 'https://leads.example.com/api/',
    ASSETS_URL: 'https://cdn.example.com/lw',
  })

  test('addresses begin with it, whatever the request says', async () => {
    const page = await list({ host: 'other.example', 'x-forwarded-host': 'evil.example' })
    expect(page.path).toBe('https://leads.example.com/api/leads')
    expect(page.first_page_url).toBe('https://leads.example.com/api/leads?page=1')
    expect(await attachmentUrl({ host: 'other.example' })).toBe(
      'https://leads.example.com/api/leads/REFERENCE/attachments/ID',
    )
  })

  test('images have theirs under the assets address', async () => {
    expect(await imageUrl()).toMatch(/^https:\/\/cdn\.example\.com\/lw\/images\/[0-9a-f-]{36}\.png$/)
  })
})
