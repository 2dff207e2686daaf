import { createHash } from 'node:crypto'
import type { VerifiedToken } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'
import { createTokenVerifier } from './authenticate'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway({
    leads: { updateLead: async () => ({ body: Buffer.from('{}') }) },
    webhooks: { listWebhookEndpoints: async () => ({ endpoints: [] }) },
  })
})
afterAll(() => gateway.stop())

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

test('without a token, and with another scheme', async () => {
  const response = await gateway.app.inject({ url: '/leads/statuses' })
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe('Bearer')
  expect(response.json()).toMatchObject({
    title: 'Unauthorized',
    detail: 'A bearer token is needed. Send "Authorization: Bearer", a space and the token.',
  })
})

test.each([
  ['Bearer nobody', /^The bearer token is not valid\.$/],
  ['Bearer expired', /^The bearer token is not valid\.$/],
  ['Bearer all all', /^The bearer token is malformed\. /],
  ['Bearer "all"', /^The bearer token is malformed\. /],
  ['Bearer <all>', /^The bearer token is malformed\. /],
  ['Bearer ü', /^The bearer token is malformed\. /],
])('Authorization: %s is a 401 about the token', async (authorization, detail) => {
  const response = await gateway.send({ url: '/leads/statuses', headers: { authorization } })
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"')
  expect(response.json().detail).toMatch(detail)
})

test.each([
  ['all', /no scheme\. Send "Authorization: Bearer", a space and the token\.$/],
  ['lw_live_0123456789', /no scheme\. Send /],
  ['Bearer:all', /no scheme\. Send /],
  ['Bearer', /no token\. Send /],
  ['Bearer ', /no token\. Send /],
  ['Basic YTpi', /must be Bearer\. Send /],
  ['Token all', /must be Bearer\. Send /],
  ['Bearer: all', /must be Bearer\. Send /],
])('Authorization: %s is a 401 that says what is missing', async (authorization, detail) => {
  const response = await gateway.send({ url: '/leads/statuses', headers: { authorization } })
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe('Bearer')
  expect(response.json().detail).toMatch(detail)
})

test.each([
  'Bearer all',
  'bearer all',
  'BEARER  all',
  'Bearer all ',
])('Authorization: %s opens', async (authorization) => {
  expect((await gateway.send({ url: '/leads/statuses', headers: { authorization } })).statusCode).toBe(200)
})

test.each([
  ['read', 'GET', '/leads/statuses', 200],
  ['leads', 'GET', '/leads/statuses', 200],
  ['read', 'PATCH', LEAD, 403],
  ['leads', 'PATCH', LEAD, 200],
  ['leads', 'GET', '/manage/webhook-endpoints', 403],
  ['all', 'GET', '/manage/webhook-endpoints', 200],
  ['read', 'POST', '/manage/leads', 403],
] as const)('a token for %s: %s %s is %i', async (token, method, url, status) => {
  const response = await gateway.send({ method, url, headers: { authorization: `Bearer ${token}` } })
  expect(response.statusCode).toBe(status)
  if (status === 403) expect(response.headers['www-authenticate']).toMatch(/error="insufficient_scope"/)
})

describe('wrong tokens', () => {
  const PROXY = '10.0.0.1'
  const clock = { now: Date.parse('2026-12-01T00:00:00Z') }
  let limited: RunningGateway
  beforeEach(async () => {
    const config = { WRONG_TOKEN_RATE: { requests: 2, windowMs: 60_000 }, TRUSTED_PROXIES: ['10.9.0.0/16'] }
    limited = await startGateway({}, { config, now: () => clock.now })
  })
  afterEach(() => limited.stop())

  const fetchStatus = async (token: string, remoteAddress: string, more = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...more }
    return (await limited.send({ url: '/leads/statuses', headers, remoteAddress })).statusCode
  }

  test('are refused beyond the limit, before they are verified, until the time is over', async () => {
    for (const status of [401, 401, 429]) expect(await fetchStatus('wrong', '9.9.9.9')).toBe(status)
    const refused = await limited.send({
      url: '/leads/statuses',
      remoteAddress: '9.9.9.9',
      headers: { authorization: 'Bearer read' },
    })
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
    expect(await fetchStatus('read', '9.9.9.10')).toBe(200)
    clock.now += 60_000
    expect(await fetchStatus('wrong', '9.9.9.9')).toBe(401)
    expect(await fetchStatus('read', '9.9.9.9')).toBe(200)
  })

  test('stop no token that was valid, however long ago', async () => {
    expect(await fetchStatus('leads', '9.9.9.9')).toBe(200)
    for (const status of [401, 401, 429]) expect(await fetchStatus('wrong', '9.9.9.9')).toBe(status)
    clock.now += 59_000
    expect(await fetchStatus('leads', '9.9.9.9')).toBe(200)
  })

  test('count by /64, and for the client of a trusted proxy', async () => {
    expect(await fetchStatus('wrong', '2a00:1450::1')).toBe(401)
    expect(await fetchStatus('wrong', '2a00:1450::2')).toBe(401)
    expect(await fetchStatus('wrong', '2a00:1450::3')).toBe(429)
    expect(await fetchStatus('wrong', '2a00:1450:0:1::3')).toBe(401)
    const fetchClientStatus = (ip: string) => fetchStatus('wrong', '10.9.0.1', { 'x-forwarded-for': ip })
    for (const status of [401, 401, 429]) expect(await fetchClientStatus('8.8.4.4')).toBe(status)
    expect(await fetchClientStatus('8.8.4.5')).toBe(401)
  })

  test('lock out nobody behind a proxy that no setting names', async () => {
    for (let sent = 0; sent < 5; sent += 1) {
      expect(await fetchStatus('wrong', PROXY, { 'x-forwarded-for': '8.8.4.4' })).toBe(401)
      expect(await fetchStatus('wrong', PROXY)).toBe(401)
    }
    expect(await fetchStatus('read', PROXY)).toBe(200)
  })

  test('of forms count, too', async () => {
    const fetchStampStatus = async (token: string) =>
      (await limited.send({ url: `/capture/${token}/stamp`, remoteAddress: '9.9.9.9' })).statusCode
    for (const status of [404, 404, 429]) expect(await fetchStampStatus('wrong')).toBe(status)
  })

  test('requests without a token do not count', async () => {
    for (let sent = 0; sent < 5; sent += 1) {
      const response = await limited.app.inject({ url: '/leads/statuses', remoteAddress: '9.9.9.9' })
      expect(response.statusCode).toBe(401)
    }
    expect(await fetchStatus('read', '9.9.9.9')).toBe(200)
  })
})

test('what a token opened is kept in no cache', async () => {
  expect((await gateway.send({ url: '/leads/statuses' })).headers['cache-control']).toBe('no-store')
})

describe('Token-Expires-At', () => {
  const EXPIRY = '2026-12-05T00:00:00.123456Z'
  const clock = { ms: 0, databaseMs: 0 }
  let gatewayOfThen: RunningGateway
  beforeAll(async () => {
    const clocks = { now: () => clock.ms, databaseNow: () => clock.databaseMs }
    gatewayOfThen = await startGateway({}, clocks)
  })
  afterAll(() => gatewayOfThen.stop())

  const answerAt = (time: string, { token = 'ending', method = 'GET', url = '/leads/statuses' } = {}) => {
    clock.databaseMs = Date.parse(time)
    // Advances the clock by 500 ms, because the gateway reuses a verification for this time.
    clock.ms += 500
    const headers = { authorization: `Bearer ${token}` }
    return gatewayOfThen.send({ method: method as 'GET', url, headers })
  }

  test.each([
    ['2026-11-20T23:59:59Z', undefined],
    ['2026-11-21T00:00:00.123Z', EXPIRY],
    ['2026-12-05T00:00:00.122Z', EXPIRY],
  ])('at %s is %s', async (time, expiry) => {
    const { statusCode, headers } = await answerAt(time)
    expect([statusCode, headers['token-expires-at']]).toEqual([200, expiry])
  })

  test.each([
    ['HEAD', '/leads/statuses', 200],
    ['GET', '/leads/x', 404],
    ['POST', '/leads', 422],
    ['GET', '/manage/users', 403],
    ['GET', '/leads', 500],
  ])('is in the answer to %s %s, which is %i', async (method, url, status) => {
    const { statusCode, headers } = await answerAt('2026-12-01T00:00:00Z', { method, url })
    expect([statusCode, headers['token-expires-at']]).toEqual([status, EXPIRY])
  })

  test.each(['all', 'expiring', 'nobody'])('is not in an answer to the token "%s"', async (token) => {
    const { headers } = await answerAt('2026-12-01T00:00:00Z', { token })
    expect(headers).not.toHaveProperty('token-expires-at')
  })

  test('is absent when the token has expired', async () => {
    const { statusCode, headers } = await answerAt('2026-12-05T00:00:00.123Z')
    expect([statusCode, headers['token-expires-at']]).toEqual([401, undefined])
  })
})

describe('the verifier', () => {
  /**
   * PostgreSQL's time at each verification. Far from the time of this process, so that a mix-up fails a test.
   */
  const DATABASE_MS = Date.parse('2001-02-03T04:05:06Z')
  const token = (change: Partial<VerifiedToken> = {}): VerifiedToken => ({
    suspended: false,
    tokenId: 1,
    accountId: 1,
    scopes: ['leads'],
    test: false,
    name: 'Spec',
    origins: [],
    expiresAtMs: undefined,
    verifiedAtMs: DATABASE_MS,
    ...change,
  })

  const scene = (answer: () => Promise<VerifiedToken | undefined>) => {
    const clock = { now: 1_000_000 }
    const asked: string[] = []
    const verify = createTokenVerifier({
      verify: (hash) => {
        asked.push(hash.toString('hex'))
        return answer()
      },
      now: () => clock.now,
    })
    return { clock, asked, verify }
  }

  test('asks with the hash, once within 500 ms', async () => {
    const { clock, asked, verify } = scene(async () => token())
    await Promise.all([verify('secret'), verify('secret')])
    clock.now += 499
    await verify('secret')
    expect(asked).toEqual([createHash('sha256').update('secret').digest('hex')])
    clock.now += 1
    await verify('secret')
    expect(asked).toHaveLength(2)
  })

  test('counts from when the question left: a slow answer is no fresher for it', async () => {
    let answer: (found: VerifiedToken) => void = () => undefined
    const { clock, asked, verify } = scene(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    const first = verify('t')
    clock.now += 500
    answer(token())
    await first
    void verify('t')
    expect(asked).toHaveLength(2)
  })

  test('a revoked token is out after 500 ms, and a "no" is kept as long', async () => {
    let answer: VerifiedToken | undefined = token()
    const { clock, asked, verify } = scene(async () => answer)
    expect(await verify('t')).toBeDefined()
    answer = undefined
    clock.now += 500
    expect(await verify('t')).toBeUndefined()
    answer = token()
    clock.now += 499
    expect(await verify('t')).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test('the expiry is checked on every call', async () => {
    const { clock, verify } = scene(async () => token({ expiresAtMs: DATABASE_MS + 100 }))
    expect(await verify('t')).toBeDefined()
    clock.now += 99
    expect(await verify('t')).toBeDefined()
    clock.now += 1
    expect(await verify('t')).toBeUndefined()
  })

  test('PostgreSQL’s time passes from when the question left', async () => {
    const { clock, verify } = scene(async () => token())
    expect((await verify('t'))!.databaseNow()).toBe(DATABASE_MS)
    clock.now += 499.9
    expect((await verify('t'))!.databaseNow()).toBe(DATABASE_MS + 499)
  })

  test('a failure is no answer: the next call asks again', async () => {
    const answers = [Promise.reject(new ServiceError('unavailable', 'unavailable')), Promise.resolve(token())]
    const { verify } = scene(() => answers.shift()!)
    await expect(verify('t')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await verify('t')).toBeDefined()
  })
})
