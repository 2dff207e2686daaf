import { type RunningGateway, startGateway } from '../gateway.fixture'

// Differs from the gateway's own clock (`now`), which this spec sets to 0, so that a test fails if the
// gateway judges an expiry by the wrong clock.
const DATABASE_NOW = Date.parse('2026-11-21T09:30:00Z')

let gateway: RunningGateway
let created: { expiresAt?: string | undefined; scopes: string[] }[]

beforeAll(async () => {
  const token = { id: 2, name: 'Form', scopes: ['leads'], test: false, createdAt: '2026-11-21T09:00:00Z' }
  const listed = [
    undefined,
    '2026-11-21T09:30:00.000000Z',
    '2026-11-21T09:30:01.000000Z',
    '2026-12-05T09:30:00.000000Z',
    '2026-12-05T09:30:00.001000Z',
  ]
  gateway = await startGateway(
    {
      accounts: {
        listTokens: async () => ({ tokens: listed.map((expiresAt) => ({ ...token, expiresAt })) }),
        createToken: async (request) => {
          created.push(request)
          return { token, secret: 'lw_live_x' }
        },
      },
      webhooks: {
        retrieveWebhookEndpoint: async () => ({
          endpoint: { id: 1, url: 'https://crm.example.com/', enabled: true, headerNames: [] },
        }),
      },
    },
    { now: () => 0, databaseNow: () => DATABASE_NOW },
  )
})
beforeEach(() => {
  created = []
})
afterAll(() => gateway.stop())

test.each([
  ['2026-11-21T09:30:00Z', ['name', 'expires_at']],
  ['2026-11-21T09:30:00.001Z', ['name']],
])('PostgreSQL’s clock decides whether %s has passed', async (expires_at, invalid) => {
  const payload = { name: '', scopes: ['leads'], expires_at }
  const response = await gateway.send({ method: 'POST', url: '/manage/tokens', payload })
  expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, invalid])
})

test('a token expires soon if PostgreSQL’s clock is within 14 days of its expiry', async () => {
  const response = await gateway.send({ method: 'GET', url: '/manage/tokens' })
  const { data } = response.json<{ data: { expires_soon: boolean }[] }>()
  expect(data.map((token) => token.expires_soon)).toEqual([false, false, true, true, false])
})

test('a portal link expires an hour later, by PostgreSQL’s clock', async () => {
  const response = await gateway.send({ method: 'POST', url: '/manage/webhook-endpoints/1/portal' })
  expect(response.statusCode).toBe(200)
  expect(created).toMatchObject([{ scopes: ['portal-link'], expiresAt: '2026-11-21T10:30:00.000Z' }])
})

test('a token that expires within nine hours by PostgreSQL’s clock creates no portal link', async () => {
  const { statusCode } = await gateway.send({
    method: 'POST',
    url: '/manage/webhook-endpoints/1/portal',
    headers: { authorization: 'Bearer ending-today' },
  })
  expect([statusCode, created]).toEqual([403, []])
})
