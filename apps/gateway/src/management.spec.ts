import { EVENT_TYPES } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from './gateway.fixture'
import { cursorOf } from './validation/cursor'

const NOW = '2026-11-21T09:30:00.123456Z'
const endpoint = {
  id: 1,
  url: 'https://crm.example.com/',
  description: undefined,
  enabled: true,
  events: ['lead.created'],
  leads: 'all',
  headerNames: ['X-Api-Key'],
  createdAt: NOW,
  updatedAt: NOW,
}
const delivery = {
  id: 4,
  endpointId: 1,
  eventId: 'e',
  leadReference: 'r',
  status: 'pending',
  attemptCount: 1,
  nextAttemptAt: NOW,
  createdAt: NOW,
  updatedAt: NOW,
}

const user = { id: 1, email: 'a@example.com', name: 'A', createdAt: NOW }
type Changed = { userId: number; email: string; name: string }

const CLOCK = Date.parse('2026-11-21T09:30:00Z')
const EXPIRIES = [
  { revokedAt: undefined, expiresAt: undefined },
  { revokedAt: undefined, expiresAt: '2026-11-21T09:30:00.000000Z' },
  { revokedAt: undefined, expiresAt: '2026-11-21T09:30:01.000000Z' },
  { revokedAt: undefined, expiresAt: '2026-12-05T09:30:00.000000Z' },
  { revokedAt: undefined, expiresAt: '2026-12-05T09:30:00.001000Z' },
  { revokedAt: NOW, expiresAt: '2026-11-21T09:30:01.000000Z' },
]

let gateway: RunningGateway
let asked: Record<string, unknown>[]
/** How many further retrievals of the delivery find no attempt. */
let unattempted = 0
const SOURCES = ['192.0.2.10', '2001:db8::/64']
let names = () => ({ leads: [{ reference: 'r', name: 'Bay' }] })
const note =
  <T>(answer: (request: never) => T) =>
  async (request: object) => {
    asked.push(request as Record<string, unknown>)
    return answer(request as never)
  }

beforeAll(async () => {
  const token = {
    id: 2,
    name: 'Form',
    scopes: ['leads'],
    test: false,
    expiresAt: undefined,
    lastUsedAt: undefined,
    revokedAt: NOW,
    createdAt: NOW,
  }
  const replay = { id: 8, state: 'running', matched: 7, enqueued: 0, createdAt: NOW }
  const behind = {
    leads: { findLeadNames: async () => names() },
    accounts: {
      createUser: note(({ email, name }: { email: string; name: string }) => ({
        user: { ...user, email, name },
      })),
      listUsers: note(() => ({ users: [] })),
      retrieveUser: note(({ userId }: { userId: number }) => {
        if (userId !== 1) throw new ServiceError('not_found', 'There is no such user.')
        return { user: { ...user, removedAt: NOW } }
      }),
      updateUser: note(({ userId, email = user.email, name = user.name }: Partial<Changed>) => {
        if (userId !== 1) throw ServiceError.invalid({ id: ['The user was removed and can not be changed.'] })
        return { user: { ...user, email, name } }
      }),
      removeUser: note(() => ({ user: { ...user, removedAt: NOW } })),
      listTokens: note(() => ({ tokens: EXPIRIES.map((expiry) => ({ ...token, ...expiry })) })),
      createToken: note(() => ({ token, secret: 'lw_live_x' })),
      retrieveAccount: note(() => ({ account: { id: 3, name: 'A', apiKey: 'the-key', createdAt: NOW } })),
      revokeToken: note(({ tokenId }: { tokenId: number }) => {
        if (tokenId !== 2) throw new ServiceError('not_found', 'There is no such token.')
        return { token }
      }),
    },
    webhooks: {
      createWebhookEndpoint: note(() => ({ endpoint, secret: 'whsec_x' })),
      retrieveWebhookEndpoint: note(({ endpointId }: { endpointId: number }) => {
        if (endpointId !== 1) throw new ServiceError('not_found', 'There is no such endpoint.')
        return { endpoint, recovery: { since: NOW, remaining: 7, remainingCapped: false } }
      }),
      updateWebhookEndpoint: note(() => ({ endpoint })),
      deleteWebhookEndpoint: note(() => ({})),
      rotateWebhookSecret: note(() => ({ endpoint, secret: 'whsec_y', oldSecretUntil: NOW })),
      testWebhookEndpoint: note(() => ({ delivery })),
      recoverWebhookEndpoint: note(() => ({ recovered: 2, recoveredCapped: false })),
      replayWebhookEndpoint: note(({ dryRun }: { dryRun: boolean }) => ({
        replay: dryRun ? replay : { ...replay, state: 'done', enqueued: 7 },
      })),
      retrieveReplay: note(() => ({ replay })),
      cancelReplay: note(() => ({ replay: { ...replay, state: 'cancelled' } })),
      retryDelivery: note(({ deliveryId }: { deliveryId: number }) => {
        if (deliveryId !== 4) throw new ServiceError('conflict', 'An attempt is in flight.')
        return { delivery }
      }),
      listWebhookEndpointHealth: note(() => ({
        endpoints: [
          {
            endpointId: 1,
            lastSuccessAt: undefined,
            pending: 1,
            held: 2,
            exhausted: 3,
            hours: [{ hour: NOW, succeeded: 4, failed: 5 }],
          },
        ],
      })),
      listDeliveries: note(({ cursor, status }: { cursor?: number; status?: string }) => ({
        ...{ deliveries: [delivery], perPage: 20 },
        ...(status === 'held' ? { total: 10_000, totalCapped: true } : { total: 41, totalCapped: false }),
        ...{ nextCursor: cursor === 4 ? undefined : 4 },
      })),
      retrieveDelivery: note(() => ({
        delivery: { ...delivery, nextAttemptAt: undefined },
        attempts:
          unattempted-- > 0
            ? []
            : [
                {
                  number: 1,
                  startedAt: NOW,
                  durationMs: 9,
                  status: undefined,
                  error: 'refused',
                  response: undefined,
                },
              ],
        request: {
          headers: [{ name: 'webhook-id', value: 'e' }, { name: 'X-Api-Key' }],
          body: Buffer.from('{"data":"é"}'),
        },
      })),
    },
  }
  const config = { WEBHOOK_SOURCE_ADDRESSES: SOURCES }
  gateway = await startGateway(behind, { config, now: () => CLOCK })
})
beforeEach(() => {
  asked = []
})
afterAll(() => gateway.stop())

const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
  const response = await gateway.send({ method, url: `/manage/${path}`, ...(payload && { payload }) })
  return { status: response.statusCode, body: response.json() }
}

const USER = { id: 1, email: 'a@example.com', name: 'A' }

test('users', async () => {
  const { body } = await call('POST', 'users', { email: 'a@example.com', name: 'A' })
  expect(body).toEqual({
    data: { ...USER, created_at: NOW, removed_at: null, calendar_created_at: null },
  })
  expect((await call('GET', 'users')).body).toEqual({ data: [] })
  expect((await call('POST', 'users', { email: 'x' })).body.errors).toEqual({
    name: ['The name field is required.'],
    email: ['The email must be a valid email address.'],
  })
})

test('one user is retrieved, changed and removed', async () => {
  const record = { ...USER, created_at: NOW, removed_at: null, calendar_created_at: null }
  expect((await call('GET', 'users/1')).body).toEqual({ data: { ...record, removed_at: NOW } })
  const change = { email: ' b@example.com ', name: '', other: 1 }
  expect((await call('PATCH', 'users/1', change)).body).toEqual({
    data: { ...record, email: 'b@example.com' },
  })
  expect((await call('PATCH', 'users/1')).body).toEqual({ data: record })
  expect((await call('DELETE', 'users/1')).body).toEqual({ data: { ...record, removed_at: NOW } })
  expect(asked).toEqual([
    { accountId: 3, userId: 1 },
    { accountId: 3, userId: 1, email: 'b@example.com' },
    { accountId: 3, userId: 1 },
    { accountId: 3, userId: 1 },
  ])
})

test('a missing user is a 404 before the errors of its change; a removed one is a 422', async () => {
  const invalid = { email: 'x', name: 'n'.repeat(256) }
  expect((await call('PATCH', 'users/9', invalid)).status).toBe(404)
  const { status, body } = await call('PATCH', 'users/1', invalid)
  expect([status, Object.keys(body.errors).toSorted()]).toEqual([422, ['email', 'name']])
  const removed = await call('PATCH', 'users/2', { name: 'B' })
  expect([removed.status, removed.body.errors]).toEqual([
    422,
    { id: ['The user was removed and can not be changed.'] },
  ])
})

test('tokens say whether they expire soon: unrevoked, in the future and within 14 days', async () => {
  const { body } = await call('GET', 'tokens')
  expect(body.data.map((token: { expires_soon: boolean }) => token.expires_soon)).toEqual([
    ...[false, false, true, true, false, false],
  ])
})

test('a token is shown once', async () => {
  const { body } = await call('POST', 'tokens', {
    name: 'Form',
    scopes: ['leads'],
    expires_at: '2999-01-01T00:00:00+01:00',
  })
  expect(body.data).toMatchObject({ id: 2, token: 'lw_live_x', expires_at: null, test: false })
  expect(asked[0]).toMatchObject({ scopes: ['leads'], test: false, expiresAt: '2998-12-31T23:00:00Z' })
})

test.each([
  [{ scopes: [] }, { scopes: ['The scopes must have at least 1 items.'] }],
  [
    { scopes: ['root'] },
    {
      'scopes.0': [
        'The selected scopes.0 is invalid. It may be: leads, leads:read, leads:create, events:read, webhooks, manage:read, manage.',
      ],
    },
  ],
  [{ scopes: 'leads' }, { scopes: ['The scopes must be an array.'] }],
  [
    { expires_at: '2999-01-01' },
    { expires_at: ['The expires at is not a valid date (ISO 8601 with its offset).'] },
  ],
  [
    { expires_at: '2999-01-01T00:00:00' },
    { expires_at: ['The expires at is not a valid date (ISO 8601 with its offset).'] },
  ],
  [
    { name: '', expires_at: '2020-01-01T00:00:00Z' },
    {
      name: ['The name field is required.'],
      expires_at: ['The expires at must be a date in the future.'],
    },
  ],
])('a token with %j is refused', async (change, errors) => {
  const { status, body } = await call('POST', 'tokens', { name: 'Form', scopes: ['leads'], ...change })
  expect([status, body.errors]).toEqual([422, errors])
})

const createWith = async (token: string, body: object) => {
  const response = await gateway.send({
    ...{ method: 'POST', url: '/manage/tokens', headers: { authorization: `Bearer ${token}` } },
    payload: { name: 'Form', scopes: ['leads'], ...body },
  })
  return { status: response.statusCode, errors: response.json().errors }
}

test.each<[string, object, object]>([
  ['test', { test: false }, { test: ['A test token makes test tokens only.'] }],
  [
    'manage',
    { scopes: ['leads', 'leads:read', 'manage'] },
    { scopes: ['This token can not give the scopes leads, leads:read: it does not have them.'] },
  ],
  ...[{}, { expires_at: '2998-01-01T00:00:00.001Z' }, { expires_at: '2999-01-01T00:00:00Z' }].map(
    (body): [string, object, object] => [
      'expiring',
      body,
      {
        expires_at: [
          'The expires at must be given and not be after 2998-01-01T00:00:00.000Z, when this token expires.',
        ],
      },
    ],
  ),
])('with the token "%s" none better is made: %j', async (token, body, errors) => {
  expect(await createWith(token, body)).toEqual({ status: 422, errors })
  expect(asked).toEqual([])
})

test.each([
  ['test', {}, { test: true }],
  ['test', { test: true }, { test: true }],
  ['manage', { scopes: ['manage'] }, { scopes: ['manage'] }],
  ['expiring', { expires_at: '2998-01-01T00:00:00Z' }, { expiresAt: '2998-01-01T00:00:00Z' }],
  ['all', { scopes: ['leads:read'] }, { scopes: ['leads:read'], expiresAt: undefined, test: false }],
])('with the token "%s" one that is as good is made: %j', async (token, body, made) => {
  expect((await createWith(token, body)).status).toBe(200)
  expect(asked[0]).toMatchObject(made)
})

test('revoking answers with the record', async () => {
  expect((await call('DELETE', 'tokens/2')).body.data).toMatchObject({ id: 2, revoked_at: NOW })
})

test.each(['x', '0', '-1', '1.5', '9007199254740992', '01'])('the id %s names nothing', async (id) => {
  expect((await call('DELETE', `tokens/${id}`)).status).toBe(404)
  expect((await call('PATCH', `users/${id}`, { name: 'B' })).status).toBe(404)
  expect((await call('GET', `deliveries/${id}`)).status).toBe(404)
  expect(asked).toEqual([])
})

test('an endpoint shows its secret when it is made, and only then', async () => {
  const { body } = await call('POST', 'webhook-endpoints', {
    url: 'https://crm.example.com/',
    enabled: '0',
    secret: 'a long random secret',
  })
  expect(body).toEqual({
    data: {
      id: 1,
      url: 'https://crm.example.com/',
      description: null,
      enabled: true,
      events: ['lead.created'],
      leads: 'all',
      filter: null,
      include: [],
      disabled_reason: null,
      headers: { 'X-Api-Key': null },
      previous_secret_until: null,
      secret: 'whsec_x',
      created_at: NOW,
      updated_at: NOW,
    },
  })
  expect(asked[0]).toMatchObject({ enabled: false, secret: 'a long random secret' })
  const { data } = (await call('GET', 'webhook-endpoints/1')).body
  expect(data).not.toHaveProperty('secret')
  expect(data.recovery).toEqual({ since: NOW, remaining: 7, remaining_capped: false })
})

test('an endpoint subscribes to kinds of event, of all leads or of some', async () => {
  const url = 'https://crm.example.com/'
  await call('POST', 'webhook-endpoints', { url, events: ['lead.updated', 'lead.created'], leads: 'live' })
  await call('PATCH', 'webhook-endpoints/1', { events: ['attachment.added'], leads: 'test' })
  expect(asked).toMatchObject([
    { events: { types: ['lead.updated', 'lead.created'] }, leads: 'live' },
    { events: { types: ['attachment.added'] }, leads: 'test' },
  ])
})

test('an endpoint has headers of its own; null keeps a value, and no value is shown', async () => {
  const headers = { 'X-Api-Key': null, Authorization: 'Bearer t' }
  const { body } = await call('PATCH', 'webhook-endpoints/1', { headers })
  expect(body.data.headers).toEqual({ 'X-Api-Key': null })
  expect(asked).toMatchObject([
    {
      headers: {
        headers: [
          { name: 'X-Api-Key', value: undefined },
          { name: 'Authorization', value: 'Bearer t' },
        ],
      },
    },
  ])
})

test.each([
  [{ a: 1 }, 'headers.a'],
  [['a'], 'headers'],
  [Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`a${index}`, 'b'])), 'headers'],
])('the headers %j are refused', async (headers, field) => {
  const url = 'https://crm.example.com/'
  const { status, body } = await call('POST', 'webhook-endpoints', { url, headers })
  expect([status, Object.keys(body.errors)]).toEqual([422, [field]])
})

test.each([
  [[], 'The events must have at least 1 items.'],
  [['lead.created', 'lead.created'], 'The events field has a duplicate value.'],
  ['lead.created', 'The events must be an array.'],
])('the events %j are refused', async (events, message) => {
  const { status, body } = await call('POST', 'webhook-endpoints', {
    url: 'https://crm.example.com/',
    events,
  })
  expect([status, body.errors]).toEqual([422, { events: [message] }])
})

test('the error of an unknown type of event lists the known ones', async () => {
  const { status, body } = await call('PATCH', 'webhook-endpoints/1', { events: ['lead.eaten'] })
  expect([status, body.errors]).toEqual([
    422,
    {
      'events.0': [`The selected events.0 is invalid. It may be: ${EVENT_TYPES.join(', ')}.`],
    },
  ])
})

test.each([
  'ftp://x.example',
  'https://user:pw@x.example',
  'https://u@x.example',
  'crm.example.com',
  'javascript:alert(1)',
  'https://',
  'https://crm.example.com/\u202e',
  'https://crm.example.com/\u2028a',
  5,
])('the url %j is refused', async (url) => {
  const { status, body } = await call('POST', 'webhook-endpoints', { url })
  expect([status, Object.keys(body.errors)]).toEqual([422, ['url']])
})

test('a url with a mebibyte of accents in its host is not normalised, which takes half a minute', async () => {
  const start = performance.now()
  const url = `https://a${'\u0301\u0316'.repeat(250_000)}.example.com/`
  const { status, body } = await call('POST', 'webhook-endpoints', { url })
  expect([status, Object.keys(body.errors)]).toEqual([422, ['url']])
  // Jest's own limit does not see what holds the event loop up.
  expect(performance.now() - start).toBeLessThan(20_000)
})

test('a change says only what changes; null clears the description', async () => {
  await call('PATCH', 'webhook-endpoints/1', { description: null })
  await call('PATCH', 'webhook-endpoints/1', { enabled: false })
  expect(asked).toEqual([
    { accountId: 3, endpointId: 1, description: '' },
    { accountId: 3, endpointId: 1, enabled: false },
  ])
})

test('a missing endpoint is a 404 before errors', async () => {
  expect((await call('PATCH', 'webhook-endpoints/9', { url: 'x' })).status).toBe(404)
  expect((await call('PATCH', 'webhook-endpoints/1', { url: 'x' })).status).toBe(422)
})

test('deleting answers with what was deleted', async () => {
  expect((await call('DELETE', 'webhook-endpoints/1')).body.data.id).toBe(1)
  expect((await call('DELETE', 'webhook-endpoints/9')).status).toBe(404)
})

test('a page of deliveries keeps its filters', async () => {
  const { body } = await call('GET', 'deliveries?status=pending&endpoint_id=1&page=2')
  expect(body).toMatchObject({
    current_page: 2,
    data: [{ id: 4, status: 'pending', next_attempt_at: NOW }],
    next_page_url: 'https://api.example.test/manage/deliveries?endpoint_id=1&status=pending&page=3',
    total: 41,
  })
  expect(asked[0]).toEqual({ accountId: 3, endpointId: 1, status: 'pending', page: 2 })
})

test('cursors lead to the end, and keep the filters', async () => {
  const { body } = await call('GET', 'deliveries?cursor=&status=pending')
  expect(body).toEqual({ data: [expect.objectContaining({ id: 4 })], next_cursor: cursorOf(4) })
  expect((await call('GET', `deliveries?cursor=${cursorOf(4)}`)).body).toMatchObject({ next_cursor: null })
  expect(asked).toEqual([
    { accountId: 3, status: 'pending', page: 0, cursor: Number.MAX_SAFE_INTEGER },
    { accountId: 3, page: 0, cursor: 4 },
  ])
})

test('all filters arrive as the service knows them', async () => {
  const times = 'from=2026-11-20T01:00:00.1234567%2B01:00&to=2026-11-21T00:00:00Z'
  const others = 'lead_reference=0B0B4A3E-6f0a&type=lead.created&error=timeout&failed=1'
  const { body } = await call('GET', `deliveries?${times}&${others}`)
  expect(body.data).toMatchObject([{ id: 4, lead_name: 'Bay' }])
  expect(asked).toEqual([
    {
      ...{ accountId: 3, page: 1, from: '2026-11-20T00:00:00.123456Z', to: '2026-11-21T00:00:00Z' },
      ...{ leadReference: '0b0b4a3e-6f0a', type: 'lead.created', error: 'timeout', failed: true },
    },
  ])
})

test('deliveries come without names while leads-service is replaced', async () => {
  const known = names
  names = () => {
    throw new ServiceError('unavailable', 'This is not available yet.')
  }
  expect((await call('GET', 'deliveries')).body.data).toMatchObject([{ id: 4, lead_name: null }])
  names = known
})

test('a count that stopped says so, and pages end with it', async () => {
  const last = (await call('GET', 'deliveries?status=held&page=500')).body
  expect(last).toMatchObject({ total: 10_000, total_capped: true, last_page: 500, next_page_url: null })
  const { status, body } = await call('GET', 'deliveries?status=held&page=501')
  expect([status, body.errors]).toEqual([422, { page: [expect.stringContaining('cursor')] }])
})

test.each([
  'cursor=x',
  'cursor=-1',
  'cursor=4',
  `cursor=${cursorOf('01')}`,
  `cursor=${cursorOf(1)}&cursor=${cursorOf(2)}`,
  `cursor=${cursorOf(1)}&page=1`,
])('the place %s is an error', async (place) => {
  expect((await call('GET', `deliveries?${place}`)).status).toBe(422)
})

test.each([
  'status=foo',
  'endpoint_id=x',
  'endpoint_id=0',
  'lead_reference=x',
  'lead_reference=0b0',
  'lead_reference=0b0b4a3e6',
  'from=2026-11-20',
  'to=0000-01-01T00:00:00Z',
  'type=x',
  'error=x',
  'failed=x',
  'status=pending&status=held',
])('the filter %s is an error', async (filter) => {
  expect((await call('GET', `deliveries?${filter}`)).status).toBe(422)
})

test('a delivery comes with its attempts', async () => {
  expect((await call('GET', 'deliveries/4')).body.data).toMatchObject({
    id: 4,
    next_attempt_at: null,
    attempts: [
      { number: 1, started_at: NOW, duration_ms: 9, status: null, error: 'refused', response: null },
    ],
    request: { headers: { 'webhook-id': 'e', 'X-Api-Key': null }, body: '{"data":"é"}' },
  })
})

test('a rotated secret is shown once, with the end of the old one; the overlap is a day by default', async () => {
  const { body } = await call('POST', 'webhook-endpoints/1/rotate-secret')
  expect(body.data).toEqual({
    id: 1,
    url: 'https://crm.example.com/',
    description: null,
    enabled: true,
    events: ['lead.created'],
    leads: 'all',
    filter: null,
    include: [],
    disabled_reason: null,
    headers: { 'X-Api-Key': null },
    previous_secret_until: null,
    secret: 'whsec_y',
    old_secret_until: NOW,
    created_at: NOW,
    updated_at: NOW,
  })
  await call('POST', 'webhook-endpoints/1/rotate-secret', { overlap: '15m', secret: 'a long random secret' })
  await call('POST', 'webhook-endpoints/1/rotate-secret', { overlap: '0s' })
  expect(asked).toEqual([
    { accountId: 3, endpointId: 1, overlapMs: 86_400_000 },
    { accountId: 3, endpointId: 1, overlapMs: 900_000, secret: 'a long random secret' },
    { accountId: 3, endpointId: 1, overlapMs: 0 },
  ])
})

test.each([
  '1',
  '24',
  '-1h',
  '1w',
  '31d',
  '721h',
  'soon',
  5,
  true,
])('the overlap %j is refused', async (overlap) => {
  const { status, body } = await call('POST', 'webhook-endpoints/1/rotate-secret', {
    overlap,
    secret: 'short',
  })
  expect([status, Object.keys(body.errors)]).toEqual([422, ['overlap', 'secret']])
  expect((await call('POST', 'webhook-endpoints/9/rotate-secret', { overlap })).status).toBe(404)
})

test("a test goes out with the account's key and answers with its delivery, when that is attempted", async () => {
  unattempted = 2
  expect((await call('POST', 'webhook-endpoints/1/test')).body.data).toMatchObject({
    id: 4,
    status: 'pending',
    lead_name: 'Bay',
    attempt: { number: 1, status: null, error: 'refused', reason: null },
  })
  const retrieved = { accountId: 3, deliveryId: 4 }
  expect(asked).toEqual([
    ...[{ accountId: 3 }, { accountId: 3, endpointId: 1, accountKey: 'the-key' }],
    ...[retrieved, retrieved, retrieved],
  ])
})

test('webhook sources are those of the setting', async () => {
  expect((await call('GET', 'webhook-sources')).body).toEqual({ data: { addresses: SOURCES } })
})

test('recovering says how many; it needs an instant', async () => {
  const since = '2026-11-20T01:00:00+01:00'
  expect((await call('POST', 'webhook-endpoints/1/recover', { since })).body).toEqual({
    data: { recovered: 2, recovered_capped: false },
  })
  expect(asked).toEqual([{ accountId: 3, endpointId: 1, since: '2026-11-20T00:00:00Z' }])
  expect((await call('POST', 'webhook-endpoints/1/recover')).body.errors).toEqual({
    since: ['The since field is required.'],
  })
  expect((await call('POST', 'webhook-endpoints/1/recover', { since: 'yesterday' })).status).toBe(422)
  expect((await call('POST', 'webhook-endpoints/9/recover', {})).status).toBe(404)
})

test('a replay takes a range, is answered as it was requested, and is watched and cancelled', async () => {
  const shown = { id: 8, state: 'running', matched: 7, enqueued: 0, created_at: NOW }
  const range = { after_sequence: '0', until_sequence: 9, from: '2026-11-20T01:00:00.1234567+01:00' }
  const body = { ...range, types: ['lead.updated'], state: 'all', dry_run: 'true' }
  expect((await call('POST', 'webhook-endpoints/1/replay', body)).body).toEqual({ data: shown })
  expect((await call('POST', 'webhook-endpoints/1/replay')).body).toEqual({ data: shown })
  expect((await call('GET', 'webhook-endpoints/1/replay/8')).body).toEqual({ data: shown })
  expect((await call('DELETE', 'webhook-endpoints/1/replay/8')).body.data.state).toBe('cancelled')
  const key = { accountId: 3, endpointId: 1 }
  expect(asked).toMatchObject([
    {
      ...{ ...key, afterSequence: 0, untilSequence: 9, from: '2026-11-20T00:00:00.123456Z', to: undefined },
      ...{ types: { types: ['lead.updated'] }, state: 'all', dryRun: true },
    },
    { ...key, dryRun: false },
    { ...key, replayId: 8 },
    { ...key, replayId: 8 },
  ])
  const faults = (await call('POST', 'webhook-endpoints/1/replay', { from: 'now', types: [] })).body.errors
  expect(Object.keys(faults)).toEqual(['from', 'types'])
  expect((await call('POST', 'webhook-endpoints/9/replay', { from: 'now' })).status).toBe(404)
  expect((await call('GET', 'webhook-endpoints/1/replay/x')).status).toBe(404)
})

test('a retry answers with the delivery, or says why there is none', async () => {
  expect((await call('POST', 'deliveries/4/retry')).body.data).toMatchObject({ id: 4, next_attempt_at: NOW })
  const { status, body } = await call('POST', 'deliveries/5/retry')
  expect([status, body.detail]).toEqual([409, 'An attempt is in flight.'])
})

test('the health of endpoints', async () => {
  expect((await call('GET', 'webhook-endpoint-health')).body).toEqual({
    data: [
      {
        endpoint_id: 1,
        last_success_at: null,
        pending: 1,
        held: 2,
        exhausted: 3,
        hours: [{ hour: NOW, succeeded: 4, failed: 5 }],
      },
    ],
  })
})
