import { eventually } from '@leadwire/test-kit'
import { PAGE_FIELDS, TIMESTAMP, UUID } from '../../support/interface-tables'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

type Named = Record<string, unknown> & { id: number }

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const timestamp = expect.stringMatching(TIMESTAMP)

const invalidFields = async (method: string, path: string, json: object) => {
  const answer = await tenant.client.request<{ errors?: object }>(method, path, { json })
  expect(answer.status).toBe(422)
  return Object.keys(answer.json.errors ?? {}).sort()
}

test('the list and every response announce the expiry of a token during its last 14 days', async () => {
  const day = 24 * 3_600_000
  const expiryIn = (ms: number) => ({ expires_at: new Date(Date.now() + ms).toISOString() })
  const soon = await tenant.newToken({ name: 'soon', ...expiryIn(14 * day - 3_600_000) })
  const later = await tenant.newToken({ name: 'later', ...expiryIn(14 * day + 3_600_000) })
  const listed = async () =>
    new Map((await tenant.send<Named[]>('GET', '/manage/tokens')).map((record) => [record.id, record]))
  const records = await listed()
  expect(records.get(soon.id)).toMatchObject({ expires_soon: true })
  expect(records.get(later.id)).toMatchObject({ expires_soon: false })
  for (const path of ['/leads', '/leads/x', '/manage/users']) {
    const told = await tenant.client.request('GET', path, { token: soon.token })
    expect(told.headers['token-expires-at']).toBe(records.get(soon.id)!['expires_at'])
    const other = await tenant.client.request('GET', path, { token: later.token })
    expect(other.headers).not.toHaveProperty('token-expires-at')
  }
  await tenant.send('DELETE', `/manage/tokens/${soon.id}`)
  expect((await listed()).get(soon.id)).toMatchObject({ expires_soon: false })
  // Retries, because on a busy machine the token may have expired before it is created.
  const ending = await eventually(() => tenant.newToken({ name: 'ending', ...expiryIn(1000) }))
  await eventually(async () => expect((await listed()).get(ending.id)).toMatchObject({ expires_soon: false }))
})

test.each([
  [{}, ['name', 'scopes']],
  [{ name: 'a', scopes: [] }, ['scopes']],
  [{ name: 'a', scopes: 'leads' }, ['scopes']],
  [{ name: 'a', scopes: ['leads'], expires_at: 'soon', test: 'maybe' }, ['expires_at', 'test']],
  [{ name: 'a', scopes: ['leads'], expires_at: '2999-01-01' }, ['expires_at']],
  [{ name: 'a', scopes: ['leads'], expires_at: '2999-01-01T00:00:00' }, ['expires_at']],
])('a token with %j is refused', async (json, fields) => {
  expect(await invalidFields('POST', '/manage/tokens', json)).toEqual(fields)
})

test('an id that is not a positive integer gets 404', async () => {
  const { id } = await tenant.newToken({})
  for (const path of ['x', '0', '-1', '1.5', '9007199254740992', `0${id}`])
    expect(await tenant.client.request('DELETE', `/manage/tokens/${path}`)).toMatchObject({ status: 404 })
  expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(
    expect.objectContaining({ id, revoked_at: null }),
  )
})

test('webhook endpoints: created with a secret that is shown once, listed, changed, deleted', async () => {
  const created = await tenant.send<Named>('POST', '/manage/webhook-endpoints', {
    json: { url: 'https://crm.example/hooks', description: 'CRM' },
  })
  const { secret, ...record } = created
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/)
  expect(record).toEqual({
    id: expect.any(Number),
    url: 'https://crm.example/hooks',
    description: 'CRM',
    enabled: true,
    events: ['lead.created'],
    leads: 'all',
    filter: null,
    include: [],
    disabled_reason: null,
    headers: {},
    previous_secret_until: null,
    created_at: timestamp,
    updated_at: timestamp,
  })
  const path = `/manage/webhook-endpoints/${record.id}`
  expect(await tenant.send('GET', path)).toEqual({ ...record, recovery: null })
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toEqual([record])

  const change = {
    url: 'http://crm.example:8080/x?y=1',
    description: null,
    enabled: false,
    events: ['lead.created', 'attachment.added'],
    leads: 'live',
  }
  const headers = { Authorization: 'Bearer t' }
  const changed = await tenant.send<Named>('PATCH', path, { json: { ...change, headers } })
  expect(changed).toEqual({
    ...record,
    ...change,
    headers: { Authorization: null },
    updated_at: timestamp,
  })
  expect(await tenant.send('PATCH', path, { json: {} })).toEqual(changed)
  const more = { headers: { Authorization: null, 'X-Key': 'k' } }
  expect(await tenant.send('PATCH', path, { json: more })).toMatchObject({
    headers: { Authorization: null, 'X-Key': null },
  })
  const rotate = (json: object) => tenant.send('POST', `${path}/rotate-secret`, { json })
  const before = Date.now()
  const { old_secret_until: previous_secret_until } = await rotate({})
  // Allows a minute in both directions, because webhook-service estimates the clock of the database.
  const overlapMs = Date.parse(String(previous_secret_until)) - before
  expect(Math.abs(overlapMs - 86_400_000)).toBeLessThan(60_000)
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toMatchObject([{ previous_secret_until }])
  const chosen = 'a long random secret'
  expect(await rotate({ overlap: '0s', secret: chosen })).toMatchObject({
    secret: chosen,
    previous_secret_until: null,
  })

  expect(await tenant.send('DELETE', path)).toMatchObject({ id: record.id })
  for (const method of ['GET', 'DELETE']) expect((await tenant.client.request(method, path)).status).toBe(404)
  // The response is 404 for a missing endpoint, even if the body is also invalid.
  const invalid = { json: { url: 'x', overlap: 'x', since: 'x' } }
  for (const [method, address] of [
    ['PATCH', path],
    ['POST', `${path}/rotate-secret`],
    ['POST', `${path}/recover`],
  ] as const)
    expect((await tenant.client.request(method, address, invalid)).status).toBe(404)
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toEqual([])
})

test.each([
  'ftp://crm.example/',
  'crm.example',
  '/hooks',
  'https://',
  'https://user:secret@crm.example/',
  'https://user@crm.example/',
  'javascript:alert(1)',
  'https://crm.example/\u202e',
  'https://crm.example/\u2028a',
  '',
  null,
  7,
])('an endpoint at %j is refused, on create and on update', async (url) => {
  expect(await invalidFields('POST', '/manage/webhook-endpoints', { url })).toEqual(['url'])
  const { id } = await tenant.send('POST', '/manage/webhook-endpoints', {
    json: { url: 'https://a.example/' },
  })
  if (url !== '' && url !== null)
    expect(await invalidFields('PATCH', `/manage/webhook-endpoints/${id}`, { url })).toEqual(['url'])
})

test.each<[object, string]>([
  [{ headers: { a: 1 } }, 'headers.a'],
  [{ headers: ['a'] }, 'headers'],
  [{ headers: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`a${index}`, 'b'])) }, 'headers'],
  [{ events: [] }, 'events'],
  [{ events: 'lead.created' }, 'events'],
  [{ events: ['lead.created', 'lead.created'] }, 'events'],
  [{ events: ['lead.eaten'] }, 'events.0'],
])('an endpoint with %j is refused', async (fields, name) => {
  const json = { url: 'https://crm.example/', ...fields }
  expect(await invalidFields('POST', '/manage/webhook-endpoints', json)).toEqual([name])
})

test('an overlap of secrets is a duration of at most 30 days, and a recovery requires `since`', async () => {
  const { id } = await tenant.send('POST', '/manage/webhook-endpoints', {
    json: { url: 'https://crm.example/' },
  })
  const path = `/manage/webhook-endpoints/${id}`
  for (const overlap of ['1', '24', '-1h', '1w', '31d', '721h', 'soon', 5, true]) {
    const json = { overlap, secret: 'short' }
    expect([overlap, await invalidFields('POST', `${path}/rotate-secret`, json)]).toEqual([
      overlap,
      ['overlap', 'secret'],
    ])
  }
  for (const json of [{}, { since: 'yesterday' }])
    expect(await invalidFields('POST', `${path}/recover`, json)).toEqual(['since'])
})

test('deliveries: listed newest first, filtered, retrieved with every attempt', async () => {
  const first = await tenant.listen()
  const second = await tenant.listen()
  first.receiver.answerWith({ status: 200, body: 'thank you' })
  second.receiver.answerWith({ status: 500, body: 'x'.repeat(10_000) })
  const leads = [await tenant.createLead(), await tenant.createLead()]
  const list = async (query = '') =>
    (
      await tenant.client.request<{ data: Named[]; [field: string]: unknown }>(
        'GET',
        `/manage/deliveries${query}`,
      )
    ).json
  await eventually(async () => {
    expect((await list())['total']).toBe(4)
    expect((await list('?status=delivered'))['total']).toBe(2)
    for (const { id } of (await list('?status=pending')).data)
      expect(await tenant.send('GET', `/manage/deliveries/${id}`)).toMatchObject({ attempt_count: 1 })
  })
  const page = await list()
  expect(Object.keys(page)).toEqual([...PAGE_FIELDS, 'total_capped', 'next_cursor'])
  const ids = page.data.map(({ id }) => id)
  expect(ids).toEqual([...ids].sort((a, b) => b - a))

  const [delivered] = (await list(`?endpoint_id=${first.id}&lead_reference=${leads[0]!.reference}`)).data
  expect(Object.entries(delivered!)).toEqual([
    ['id', expect.any(Number)],
    ['endpoint_id', first.id],
    ['event_id', expect.stringMatching(UUID)],
    ['event', 'lead.created'],
    ['lead_reference', leads[0]!.reference],
    ['status', 'delivered'],
    ['attempt_count', 1],
    ['next_attempt_at', null],
    ['last_status', 200],
    ['last_error', null],
    ['created_at', timestamp],
    ['updated_at', timestamp],
    ['lead_name', 'Bay window'],
  ])
  expect(await tenant.send('GET', `/manage/deliveries/${delivered!.id}`)).toEqual({
    ...delivered,
    attempts: [
      {
        number: 1,
        started_at: timestamp,
        duration_ms: expect.any(Number),
        status: 200,
        error: null,
        reason: null,
        response: 'thank you',
      },
    ],
    request: {
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': expect.stringMatching(/^Leadwire\//),
        'X-SERVICE-Signature': null,
        'X-SERVICE-Account-Key': tenant.account.api_key,
        'webhook-id': delivered!['event_id'],
        'webhook-timestamp': null,
        'webhook-signature': null,
        'webhook-sequence': expect.stringMatching(/^\d+$/),
        'webhook-lead-version': '1',
        traceparent: null,
      },
      body: first.receiver.requests
        .find(({ headers }) => headers['webhook-id'] === delivered!['event_id'])!
        .body.toString(),
    },
  })
  const walked = await list('?cursor=')
  expect(walked).toEqual({ data: page.data, next_cursor: null })
  expect((await list('?cursor=&status=delivered')).data).toHaveLength(2)
  const [failed] = (
    await list(`?endpoint_id=${second.id}&status=pending&lead_reference=${leads[1]!.reference}`)
  ).data
  const retrieved = await tenant.send<Named & { attempts: Named[] }>(
    'GET',
    `/manage/deliveries/${failed!.id}`,
  )
  expect(retrieved).toMatchObject({ status: 'pending', attempt_count: 1, next_attempt_at: timestamp })
  expect(retrieved.attempts).toEqual([
    {
      number: 1,
      started_at: timestamp,
      duration_ms: expect.any(Number),
      status: 500,
      error: 'http_status',
      reason: null,
      response: 'x'.repeat(4096),
    },
  ])
  const { started_at, duration_ms } = retrieved.attempts[0] as unknown as {
    started_at: string
    duration_ms: number
  }
  const wait = Date.parse(String(retrieved['next_attempt_at'])) - Date.parse(started_at) - duration_ms
  expect(wait).toBeGreaterThanOrEqual(59_990)
  expect(wait).toBeLessThan(120_000)

  expect((await list('?status=delivered'))['first_page_url']).toBe(
    `${stage.system.baseUrl}/manage/deliveries?status=delivered&page=1`,
  )
  const found = async (query: string) =>
    (await list(`?endpoint_id=${second.id}&${query}`)).data.map(({ id }) => id)
  const { reference } = leads[1]!
  const at = encodeURIComponent(String(failed!['created_at']).replace('Z', '+00:00'))
  for (const query of [
    `lead_reference=${reference.slice(0, 12).toUpperCase()}`,
    `lead_reference=${reference.toUpperCase()}&type=lead.created&error=http_status&failed=true`,
    `from=${at}`,
    `failed=1&from=${at}&to=2999-01-01T00:00:00Z&status=pending`,
  ])
    expect([query, await found(query)]).toEqual([query, [failed!.id]])
  for (const query of ['failed=false', 'error=timeout', 'type=lead.updated', 'to=2001-01-01T00:00:00Z'])
    expect([query, await found(query)]).toEqual([query, []])

  const manager = await tenant.newToken({ scopes: ['manage'] })
  const unnamed = await tenant.client.request<{ data: Named[] }>('GET', '/manage/deliveries', manager)
  expect(unnamed.json.data.map(({ lead_name }) => lead_name)).toEqual([null, null, null, null])
  await tenant.send('POST', `/manage/leads/${leads[0]!.reference}/erase`)
  expect((await list()).data.map(({ lead_name }) => lead_name)).toEqual([
    'Bay window',
    'Bay window',
    null,
    null,
  ])

  for (const query of [
    '?lead_reference=0b0',
    '?lead_reference=0b0b4a3e6',
    '?cursor=x',
    '?cursor=4',
    '?cursor=&cursor=',
    '?cursor=&page=1',
    '?from=yesterday',
    '?to=2026-01-01',
    '?type=lead.lost',
    '?error=none',
    '?failed=perhaps',
  ])
    expect((await tenant.client.request('GET', `/manage/deliveries${query}`)).status).toBe(422)
  expect((await tenant.client.request('GET', '/manage/deliveries/999999999')).status).toBe(404)
})
