import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const body = Buffer.from('{"data":{}}')

let calls = 0
const behind = {
  leads: {
    retrieveLeads: async ({ leads }: { leads: object[] }) => {
      calls += leads.length
      return {
        results: leads.map(() => ({ result: { $case: 'body' as const, value: body }, etag: undefined })),
      }
    },
  },
}

let gateway: RunningGateway
let nowMs: number
beforeEach(async () => {
  calls = 0
  // Replaces Date.now, because the rate-limit library reads the time directly from Date.now.
  nowMs = Date.now()
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs)
  gateway = await startGateway(behind, { config: { RATE_LIMIT: { requests: 2, windowMs: 60_000 } } })
})
afterEach(async () => {
  await gateway.stop()
  jest.restoreAllMocks()
})

test('each response says what is left; beyond the limit requests are 429 and reach no service', async () => {
  const first = await gateway.send({ url: LEAD })
  expect([first.statusCode, first.headers['ratelimit-policy'], first.headers['ratelimit']]).toEqual([
    200,
    '"default";q=2;w=60',
    '"default";r=1;t=60',
  ])
  nowMs += 10_500
  const second = await gateway.send({ method: 'HEAD', url: LEAD })
  expect([second.statusCode, second.headers['ratelimit']]).toEqual([200, '"default";r=0;t=50'])
  const third = await gateway.send({ url: LEAD })
  expect(third.statusCode).toBe(429)
  expect(third.headers).toMatchObject({
    'content-type': 'application/problem+json; charset=utf-8',
    'retry-after': '50',
    'ratelimit-policy': '"default";q=2;w=60',
    ratelimit: '"default";r=0;t=50',
    'cache-control': 'no-store',
  })
  expect(third.json()).toEqual({
    type: '/problems#rate-limited',
    title: 'Too Many Requests',
    status: 429,
    detail: 'The token may send 2 requests in 60 seconds.',
    request_id: third.headers['x-request-id'],
  })
  expect(calls).toBe(2)
})

test('each token has its own share', async () => {
  const fetchStatus = async (token: string) =>
    (await gateway.send({ url: LEAD, headers: { authorization: `Bearer ${token}` } })).statusCode
  for (const status of [200, 200, 429]) expect(await fetchStatus('all')).toBe(status)
  for (const status of [200, 200, 429]) expect(await fetchStatus('read')).toBe(status)
})

test('pages of a publishable token can read it', async () => {
  const headers = { authorization: 'Bearer form', origin: 'https://www.example.com' }
  for (const status of [422, 422, 429]) {
    const answer = await gateway.send({ method: 'POST', url: '/leads', headers })
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([
      status,
      headers.origin,
    ])
  }
})

test('after the window all is there again', async () => {
  for (const status of [200, 200, 429]) expect((await gateway.send({ url: LEAD })).statusCode).toBe(status)
  nowMs += 59_999
  expect((await gateway.send({ url: LEAD })).statusCode).toBe(429)
  nowMs += 1
  const again = await gateway.send({ url: LEAD })
  expect([again.statusCode, again.headers['ratelimit']]).toEqual([200, '"default";r=1;t=60'])
})

test('requests that fail count, those without a valid token do not', async () => {
  const withToken = (authorization: string) =>
    gateway.send({ url: '/manage/tokens', headers: { authorization } })
  for (const status of [403, 403, 429]) {
    const answer = await withToken('Bearer read')
    expect(answer.statusCode).toBe(status)
    expect(answer.headers).toHaveProperty('ratelimit')
  }
  for (const status of [401, 401, 401]) {
    const answer = await withToken('Bearer unknown')
    expect(answer.statusCode).toBe(status)
    expect(answer.headers).not.toHaveProperty('ratelimit')
  }
  for (const url of ['/healthz', '/problems', '/nowhere']) {
    expect((await gateway.send({ url })).headers).not.toHaveProperty('ratelimit')
  }
})

test('without the setting there is no limit and no header', async () => {
  const free = await startGateway(behind)
  try {
    for (let sent = 0; sent < 5; sent++) {
      const answer = await free.send({ url: LEAD })
      expect(answer.statusCode).toBe(200)
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([])
    }
  } finally {
    await free.stop()
  }
})
