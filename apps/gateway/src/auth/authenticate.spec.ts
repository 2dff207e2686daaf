import { createHash } from 'node:crypto'
import type { VerifiedToken } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'
import { createTokenVerifier } from './token-verifier'

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
  expect(response.json().title).toBe('Unauthorized')
})

test.each([
  'Bearer nobody',
  'Bearer',
  'Bearer ',
  'Basic YTpi',
  'all',
  'Bearer all all',
  'Bearer expired',
  'Bearer ü',
])('Authorization: %s is a 401 that says so', async (authorization) => {
  const response = await gateway.send({ url: '/leads/statuses', headers: { authorization } })
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"')
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

test('what a token opened is kept in no cache', async () => {
  expect((await gateway.send({ url: '/leads/statuses' })).headers['cache-control']).toBe('no-store')
})

describe('Token-Expires-At', () => {
  const EXPIRY = '2026-12-05T00:00:00.123456Z'
  const clock = { now: 0 }
  let gatewayOfThen: RunningGateway
  beforeAll(async () => {
    gatewayOfThen = await startGateway({}, { now: () => clock.now })
  })
  afterAll(() => gatewayOfThen.stop())

  const answerAt = (time: string, { token = 'ending', method = 'GET', url = '/leads/statuses' } = {}) => {
    clock.now = Date.parse(time)
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
  const token = (change: Partial<VerifiedToken> = {}): VerifiedToken => ({
    suspended: false,
    tokenId: 1,
    accountId: 1,
    scopes: ['leads'],
    test: false,
    name: 'Spec',
    origins: [],
    expiresAtMs: undefined,
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
    const { clock, verify } = scene(async () => token({ expiresAtMs: 1_000_100 }))
    expect(await verify('t')).toBeDefined()
    clock.now += 100
    expect(await verify('t')).toBeUndefined()
  })

  test('a failure is no answer: the next call asks again', async () => {
    const answers = [Promise.reject(new ServiceError('unavailable', 'unavailable')), Promise.resolve(token())]
    const { verify } = scene(() => answers.shift()!)
    await expect(verify('t')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await verify('t')).toBeDefined()
  })
})
