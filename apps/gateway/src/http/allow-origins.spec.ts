import { ServiceError } from '@leadwire/service-kit'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const PAGE = 'https://app.example.test'
const FORM_PAGE = 'https://www.example.test'

const behind = {
  accounts: { findOrigin: async ({ origin }: { origin: string }) => ({ found: origin === FORM_PAGE }) },
  leads: {
    retrieveLeads: async ({ leads }: { leads: object[] }) => ({
      results: leads.map(() => ({
        result: { $case: 'body' as const, value: Buffer.from('{"data":{}}') },
        etag: '"1-1"',
      })),
    }),
    updateLead: async () => {
      throw new ServiceError('unavailable', 'Unavailable.')
    },
  },
}

let listed: RunningGateway
let open: RunningGateway
let closed: RunningGateway
beforeAll(async () => {
  listed = await startGateway(behind, { config: { CORS_ORIGINS: ['https://other.example.test', PAGE] } })
  open = await startGateway(behind, {
    config: { CORS_ORIGINS: ['*'], RATE_LIMIT: { requests: 1, windowMs: 60_000 } },
  })
  closed = await startGateway(behind)
})
afterAll(() => Promise.all([listed.stop(), open.stop(), closed.stop()]))

const preflight = (gateway: RunningGateway, url = LEAD, origin = PAGE, asked = 'if-match') =>
  gateway.app.inject({
    method: 'OPTIONS',
    url,
    headers: {
      origin,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': asked,
    },
  })

test.each([
  '/leads',
  LEAD,
  '/manage/tokens',
  '/nowhere',
])('a preflight for %s needs no token', async (url) => {
  const answer = await preflight(listed, url)
  expect([answer.statusCode, answer.body]).toEqual([204, ''])
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': PAGE,
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers':
      'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent, if-match',
    'access-control-max-age': '7200',
    vary: 'Origin',
  })
  expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
})

const ADDED_HEADERS =
  'authorization,baggage,content-type,sentry-trace,tracestate,x-b3-traceid,x-csrf-token,x-requested-with'

const isAllowed = (answer: LightMyRequestResponse, header: string) =>
  String(answer.headers['access-control-allow-headers'])
    .toLowerCase()
    .split(/\s*,\s*/)
    .includes(header)

test.each([
  ['a listed page', LEAD, PAGE, () => listed],
  ['any page, where all are allowed', LEAD, 'https://any.example.test', () => open],
  ['a page of a publishable token', '/leads', FORM_PAGE, () => listed],
  ['a page of a publishable token, without the setting', '/leads', FORM_PAGE, () => closed],
  ['a page of a publishable token', '/capture/form', FORM_PAGE, () => closed],
])('%s may send to %s the headers that libraries add', async (_what, url, origin, find) => {
  const answer = await preflight(find(), url, origin, ADDED_HEADERS)
  expect(answer.headers['access-control-allow-origin']).toMatch(/^(\*|https:.*)$/)
  expect(ADDED_HEADERS.split(',').filter((header) => !isAllowed(answer, header))).toEqual([])
})

test.each([
  ['a page of a publishable token', FORM_PAGE, FORM_PAGE],
  ['a page from elsewhere', 'https://evil.example.test', undefined],
])('the response to a preflight of %s says that it depends on the origin', async (_what, origin, allowed) => {
  for (const url of ['/leads', '/capture/form']) {
    const { headers } = await preflight(closed, url, origin)
    expect([headers['access-control-allow-origin'], headers.vary]).toEqual([allowed, 'Origin'])
  }
})

test('a preflight that asks for no header, or for strange ones, is answered', async () => {
  for (const asked of ['', ' , ', '*', 'é', 'x'.repeat(8000)]) {
    const { statusCode } = await preflight(listed, LEAD, PAGE, asked)
    expect(statusCode).toBe(204)
  }
})

test('a page from elsewhere is not allowed', async () => {
  const elsewhere = 'https://evil.example.test'
  expect((await preflight(listed, LEAD, elsewhere)).headers).not.toHaveProperty('access-control-allow-origin')
  const answer = await listed.send({ url: LEAD, headers: { origin: elsewhere } })
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
})

test.each<[number, InjectOptions]>([
  [200, { url: LEAD }],
  [304, { url: LEAD, headers: { 'if-none-match': '*' } }],
  [400, { url: '/leads?x=%ff' }],
  [401, { url: LEAD, headers: { authorization: 'Bearer unknown' } }],
  [403, { url: '/manage/tokens', headers: { authorization: 'Bearer read' } }],
  [404, { url: '/nowhere' }],
  [405, { url: LEAD, method: 'PUT' }],
  [415, { url: '/leads', method: 'POST', headers: { 'content-type': 'text/plain' }, payload: 'x' }],
  [422, { url: '/leads', method: 'POST', payload: {} }],
  [503, { url: LEAD, method: 'PATCH', payload: {} }],
])('a %i can be read by a page', async (status, request) => {
  const answer = await listed.send({ ...request, headers: { ...request.headers, origin: PAGE } })
  expect(answer.statusCode).toBe(status)
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': PAGE,
    'access-control-expose-headers':
      'ETag, Retry-After, X-Request-Id, Idempotency-Replayed, Token-Expires-At, Allow, RateLimit, RateLimit-Policy',
    vary: 'Origin',
  })
})

test('where all are allowed, a 429 too can be read', async () => {
  const statuses = []
  for (let sent = 0; sent < 2; sent++) {
    const answer = await open.send({ url: LEAD, headers: { origin: PAGE } })
    statuses.push(answer.statusCode)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  }
  expect(statuses).toEqual([200, 429])
})

test('OPTIONS that is no preflight is answered as any other method', async () => {
  for (const [url, status] of [
    [LEAD, 405],
    ['/nowhere', 404],
  ] as const) {
    const answer = await listed.app.inject({ method: 'OPTIONS', url, headers: { origin: PAGE } })
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ])
  }
  expect((await listed.app.inject({ method: 'PUT', url: '/nowhere' })).statusCode).toBe(404)
})

test('without the setting OPTIONS is a 405, and no page is allowed', async () => {
  const answer = await preflight(closed)
  expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'GET, HEAD, PATCH'])
  for (const headers of [
    answer.headers,
    (await closed.send({ url: LEAD, headers: { origin: PAGE } })).headers,
  ]) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(headers).not.toHaveProperty('vary')
  }
})

test('the document is for every page, whatever the setting', async () => {
  for (const { app } of [listed, open, closed]) {
    const answer = await app.inject({ url: '/openapi.json', headers: { origin: 'https://any.example.test' } })
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  }
})
