import { eventually } from '@leadwire/test-kit'
import { PNG } from '../files/samples.fixture'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'
import { PAGE_FIELDS, TIMESTAMP, UUID } from './interface-tables.fixture'

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

test('users: made, listed, once per e-mail, told apart by their errors', async () => {
  const json = { email: 'grace@example.com', name: 'Grace Hopper' }
  const user = await tenant.send<Named>('POST', '/manage/users', { json })
  expect(Object.entries(user)).toEqual([
    ['id', expect.any(Number)],
    ['email', 'grace@example.com'],
    ['name', 'Grace Hopper'],
    ['created_at', timestamp],
    ['removed_at', null],
    ['calendar_created_at', null],
  ])
  expect(await tenant.send('GET', '/manage/users')).toEqual([user])
  expect(await tenant.send('GET', `/manage/users/${user.id}`)).toEqual(user)
  expect(await invalidFields('POST', '/manage/users', json)).toEqual(['email'])
  expect(await invalidFields('POST', '/manage/users', { ...json, email: 'GRACE@example.com' })).toEqual([
    'email',
  ])
  expect(await invalidFields('POST', '/manage/users', { email: 'x' })).toEqual(['email', 'name'])
})

test('a user: changed, removed, still retrieved, replaced by another with its e-mail, assigned to nothing more', async () => {
  const json = { email: 'grace@example.com', name: 'Grace' }
  const user = await tenant.send<Named>('POST', '/manage/users', { json })
  const path = `/manage/users/${user.id}`
  const changed = await tenant.send('PATCH', path, { json: { name: 'Grace Hopper' } })
  expect(changed).toEqual({ ...user, name: 'Grace Hopper' })
  const { reference } = await tenant.createLead({ user_id: user.id })
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  const kept = await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry })

  const removed = await tenant.send('DELETE', path)
  expect(removed).toEqual({ ...(changed as object), removed_at: timestamp })
  expect(await tenant.send('DELETE', path)).toEqual(removed)
  expect(await tenant.send('GET', path)).toEqual(removed)
  expect(await tenant.send('GET', '/manage/users')).toEqual([])
  expect(await tenant.send('GET', `/leads/${reference}/callbacks`)).toEqual([
    { ...(kept as object), cancelled_at: null },
  ])
  expect(await invalidFields('PATCH', path, { name: 'Late' })).toEqual(['id'])
  const { email } = json
  expect(await invalidFields('POST', '/leads', { ...LEAD, user_id: user.id })).toEqual(['user_id'])
  expect(await invalidFields('POST', '/manage/leads', { ...LEAD, user_id: user.id })).toEqual(['user_id'])
  expect(await invalidFields('PATCH', `/leads/${reference}`, { user_email: email })).toEqual(['user_email'])
  for (const what of ['appointments', 'callbacks'])
    expect(await invalidFields('POST', `/leads/${reference}/${what}`, entry)).toEqual(['user_id'])

  const another = await tenant.send<Named>('POST', '/manage/users', { json })
  expect(another.id).not.toBe(user.id)
  await tenant.send('PATCH', `/leads/${reference}`, { json: { user_email: email } })
  expect(await tenant.send('GET', '/manage/users')).toEqual([another])
})

test('tokens: made, listed without themselves, revoked for good', async () => {
  const expires_at = '2099-01-01T01:00:00+01:00'
  const token = await tenant.send<Named>('POST', '/manage/tokens', {
    json: { name: 'Website', scopes: ['manage', 'leads'], expires_at, test: true },
  })
  const { token: secret, ...record } = token
  expect(secret).toMatch(/^lw_test_/)
  expect(record).toEqual({
    ...{ id: expect.any(Number), name: 'Website', scopes: ['leads', 'manage'], test: true },
    ...{
      endpoint_id: null,
      expires_at: '2099-01-01T00:00:00.000000Z',
      last_used_at: null,
      revoked_at: null,
      created_at: timestamp,
      expires_soon: false,
    },
    ...{ publishable: false, origins: [], return_url: null, honeypot: null },
  })
  expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(record)
  await tenant.client.request('GET', '/leads', { token: String(secret) })
  await eventually(
    async () =>
      expect(await tenant.send('GET', '/manage/tokens')).toContainEqual({
        ...record,
        last_used_at: timestamp,
      }),
    { describe: 'its last use to be written down' },
  )
  const revoked = await tenant.send<Named>('DELETE', `/manage/tokens/${record.id}`)
  expect(revoked).toMatchObject({ id: record.id, revoked_at: timestamp })
  const again = await tenant.client.request('DELETE', `/manage/tokens/${record.id}`)
  expect([200, 404]).toContain(again.status)
  expect((await tenant.client.request('DELETE', '/manage/tokens/999999999')).status).toBe(404)
})

test('a token that expires within 14 days says so in the list and in every answer', async () => {
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
})

test.each([
  [{}, ['name', 'scopes']],
  [{ name: 'a', scopes: [] }, ['scopes']],
  [{ name: 'a', scopes: 'leads' }, ['scopes']],
  [{ name: 'a', scopes: ['leads', 'root'] }, ['scopes.1']],
  [{ name: 'a', scopes: ['leads'], expires_at: '2001-01-01T00:00:00Z' }, ['expires_at']],
  [{ name: 'a', scopes: ['leads'], expires_at: 'soon', test: 'maybe' }, ['expires_at', 'test']],
])('a token of %j is refused', async (json, fields) => {
  expect(await invalidFields('POST', '/manage/tokens', json)).toEqual(fields)
})

test('webhook endpoints: made with a secret that is shown once, listed, changed, deleted', async () => {
  const created = await tenant.send<Named>('POST', '/manage/webhook-endpoints', {
    json: { url: 'https://crm.example/hooks', description: 'CRM' },
  })
  const { secret, ...record } = created
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/)
  expect(record).toEqual({
    ...{ id: expect.any(Number), url: 'https://crm.example/hooks', description: 'CRM', enabled: true },
    ...{
      events: ['lead.created'],
      leads: 'all',
      filter: null,
      include: [],
      disabled_reason: null,
      headers: {},
    },
    ...{ previous_secret_until: null, created_at: timestamp, updated_at: timestamp },
  })
  const path = `/manage/webhook-endpoints/${record.id}`
  expect(await tenant.send('GET', path)).toEqual({ ...record, recovery: null })
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toEqual([record])

  const change = {
    ...{ url: 'http://crm.example:8080/x?y=1', description: null, enabled: false },
    ...{ events: ['lead.created', 'attachment.added'], leads: 'live' },
  }
  const headers = { Authorization: 'Bearer t' }
  const changed = await tenant.send<Named>('PATCH', path, { json: { ...change, headers } })
  expect(changed).toEqual({
    ...{ ...record, ...change },
    ...{ headers: { Authorization: null }, updated_at: timestamp },
  })
  expect(await tenant.send('PATCH', path, { json: {} })).toEqual(changed)
  const rotate = (overlap: string) => tenant.send('POST', `${path}/rotate-secret`, { json: { overlap } })
  const { old_secret_until: previous_secret_until } = await rotate('1h')
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toMatchObject([{ previous_secret_until }])
  expect(await rotate('0s')).toMatchObject({ previous_secret_until: null })

  expect(await tenant.send('DELETE', path)).toMatchObject({ id: record.id })
  for (const method of ['GET', 'DELETE']) expect((await tenant.client.request(method, path)).status).toBe(404)
  expect((await tenant.client.request('PATCH', path, { json: {} })).status).toBe(404)
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
        ...{ number: 1, started_at: timestamp, duration_ms: expect.any(Number) },
        ...{ status: 200, error: null, reason: null, response: 'thank you' },
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
      ...{ number: 1, started_at: timestamp, duration_ms: expect.any(Number) },
      ...{ status: 500, error: 'http_status', reason: null, response: 'x'.repeat(4096) },
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
    ...[
      '?status=lost',
      '?endpoint_id=x',
      '?lead_reference=x',
      '?lead_reference=0b0',
      '?lead_reference=0b0b4a3e6',
    ],
    ...['?from=yesterday', '?to=2026-01-01', '?type=lead.lost', '?error=none', '?failed=perhaps'],
  ])
    expect((await tenant.client.request('GET', `/manage/deliveries${query}`)).status).toBe(422)
  expect((await tenant.client.request('GET', '/manage/deliveries/999999999')).status).toBe(404)
})

test('images: name and alternative text are kept; what is no image is refused', async () => {
  const multipart = [
    { name: 'alt', value: 'A window' },
    { name: 'file', value: PNG, fileName: 'C:\\photos\\front.png' },
    { name: 'name', value: 'Front' },
  ]
  const image = await tenant.send('POST', '/manage/images', { multipart })
  expect(image).toMatchObject({ name: 'Front', alt: 'A window', file_name: 'front.png', public: 1 })
  const answer = await tenant.client.request<{ errors: object }>('POST', '/manage/images', {
    multipart: [{ name: 'file', value: 'just a text', fileName: 'note.txt' }],
  })
  expect([answer.status, Object.keys(answer.json.errors)]).toEqual([422, ['file']])
})

test('a visitor lead is all or nothing', async () => {
  const product_style = { sku: 'S', name: 'N', product: { name: 'P' } }
  const sound = { product_style_id: 1, name: 'I', price: 1, product_style, image_id: 999_999_999 }
  const json = {
    ...LEAD,
    user_id: 999_999_999,
    referrer: 'Rumour',
    quotes: [{ items: [sound, { ...sound, price: 'x' }] }],
  }
  expect(await invalidFields('POST', '/manage/leads', json)).toEqual([
    'quotes.0.items.0.image_id',
    'quotes.0.items.1.image_id',
    'quotes.0.items.1.price',
    'referrer',
    'user_id',
  ])
  const list = await tenant.client.request<{ data: Lead[] }>('GET', '/leads')
  expect(list.json.data).toEqual([])
})
