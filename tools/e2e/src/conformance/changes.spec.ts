import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../client'
import { PNG } from '../files/samples.fixture'
import { fetchOpenApi, routesOf } from '../openapi.fixture'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

interface Entry {
  [field: string]: unknown
  action: string
  request_id: string | null
}
interface Listed {
  data: Entry[]
  next_cursor: string | null
}

const request = (method: string, path: string, options?: RequestOptions) =>
  tenant.client.request<{ data: Lead }>(method, path, options)

const headerOf = (answer: { headers: Record<string, string | string[] | undefined> }) =>
  String(answer.headers['etag'])

describe('ETag', () => {
  test('of a lead is the same wherever it is answered, and 304 saves reading it again', async () => {
    const created = await request('POST', '/leads', { json: LEAD })
    const path = `/leads/${created.json.data.reference}`
    const etag = headerOf(created)
    expect(etag).toMatch(/^"1-\d+"$/)
    expect(headerOf(await request('GET', path))).toBe(etag)
    const changed = await request('PATCH', path, { json: { value: 5 }, headers: { 'if-match': etag } })
    expect([changed.status, headerOf(changed)]).toEqual([200, etag.replace('"1-', '"2-')])
    const read = (tag: string, method = 'GET') => request(method, path, { headers: { 'if-none-match': tag } })
    for (const method of ['GET', 'HEAD']) {
      const known = await read(headerOf(changed), method)
      expect([known.status, known.text, headerOf(known)]).toEqual([304, '', headerOf(changed)])
      expect(known.headers['content-length']).toBe(
        method === 'HEAD' ? String(changed.bytes.length) : undefined,
      )
      expect((await read(etag, method)).status).toBe(200)
    }
    expect((await read(etag)).text).toBe(changed.text)
  })

  test('of a page changes with its leads', async () => {
    const first = await request('GET', '/leads')
    const headers = { 'if-none-match': headerOf(first) }
    expect((await request('GET', '/leads', { headers })).status).toBe(304)
    const { reference } = await tenant.createLead()
    const second = await request('GET', '/leads', { headers })
    expect(second.status).toBe(200)
    await request('PATCH', `/leads/${reference}`, { json: { value: 1 } })
    const third = await request('GET', '/leads', { headers: { 'if-none-match': headerOf(second) } })
    expect([third.status, third.text.includes('"value":1,')]).toEqual([200, true])
  })

  test('keeps one of many who saw the same lead from overwriting another', async () => {
    const { reference } = await tenant.createLead()
    const path = `/leads/${reference}`
    const headers = { 'if-match': headerOf(await request('GET', path)) }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        request('PATCH', path, { json: { value: index + 1 }, headers }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(99).fill(412)])
    const refused = answers.find(({ status }) => status === 412)!
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(refused.json).toMatchObject({ type: '/problems#precondition-failed', status: 412 })
    const won = answers.find(({ status }) => status === 200)!
    expect((await request('GET', path)).text).toBe(won.text)
  })

  test('what is not there is 404, and what is invalid 422, whatever If-Match says', async () => {
    const { reference } = await tenant.createLead()
    const statusOf = async (path: string, json: object, ifMatch: string) =>
      (await request('PATCH', path, { json, headers: { 'if-match': ifMatch } })).status
    const nowhere = '/leads/00000000-0000-4000-8000-000000000000'
    expect(await statusOf(nowhere, {}, '*')).toBe(404)
    expect(await statusOf(nowhere, {}, '"9-9"')).toBe(404)
    expect(await statusOf(`/leads/${reference}`, { value: -1 }, '"9-9"')).toBe(422)
    expect(await statusOf(`/leads/${reference}`, { user_email: 'no@b.example' }, '"9-9"')).toBe(422)
    expect(await statusOf(`/leads/${reference}`, {}, '"9-9"')).toBe(412)
    expect(await statusOf(`/leads/${reference}`, {}, '*')).toBe(200)
    expect(await statusOf(`/leads/${reference}`, {}, 'nonsense')).toBe(400)
  })
})

test('the history of a lead tells who made and changed it, by which request', async () => {
  const mine = await tenant.newToken({ name: 'Form' })
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'h@example.com', name: 'H' } })
  const by = (id: string) => ({ token: mine.token, headers: { 'x-request-id': id } })
  const created = await request('POST', '/leads', { json: LEAD, ...by('history-1') })
  const { reference, created_at } = created.json.data
  const json = { status: 'sold', user_email: 'h@example.com' }
  const updated = await request('PATCH', `/leads/${reference}`, { json, ...by('history-2') })
  const path = `/manage/leads/${reference}/history`
  const { json: history } = await tenant.client.request<Listed>('GET', path)
  const token = { id: mine.id, name: 'Form' }
  expect(history).toEqual({
    data: [
      {
        ...{ version: 2, at: updated.json.data.updated_at, action: 'updated', token },
        request_id: 'history-2',
        changes: [
          { field: 'status', from: 'open', to: 'sold' },
          { field: 'user', from: null, to: { id: user.id, email: 'h@example.com' } },
        ],
      },
      { version: 1, at: created_at, action: 'created', token, request_id: 'history-1', changes: [] },
    ],
    next_cursor: null,
  })
  const other = await stage.newTenant()
  expect((await other.client.request('GET', path)).status).toBe(404)
  expect((await request('GET', path, { token: mine.token })).status).toBe(403)
})

const auditOf = async (of = tenant) => (await of.client.request<Listed>('GET', '/manage/audit')).json

// Leads have a history of their own.
const NOT_AUDITED = [
  'POST /manage/leads',
  'POST /manage/leads/batch',
  'PUT /manage/leads/external/{external_id}',
  'POST /manage/leads/{reference}/duplicate-of',
]

test('every change under /manage is in the audit log, with its token and request, and without secrets', async () => {
  const { client, token: first } = tenant
  const { id: endpointId, secret, receiver } = await tenant.listen()
  const { reference } = await tenant.createLead()
  const { id: userId } = await tenant.send('POST', '/manage/users', {
    json: { email: 'n@b.example', name: 'N' },
  })
  const entry = { notify: true, user_id: userId, date: '01/02/2027 10:00' }
  await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry })
  const firstOf = (list: string) =>
    eventually(async () => {
      const { json } = await client.request<{ data: { id: number }[] }>('GET', `${list}?status=delivered`)
      expect(json.data.length).toBeGreaterThan(0)
      return json.data[0]!.id
    })
  const endpoint = `/manage/webhook-endpoints/${endpointId}`
  // The one after it is the next.
  const counted = await tenant.send('POST', `${endpoint}/replay`, { json: { dry_run: true } })
  const lent = await tenant.newToken({ name: 'Lent' })
  const multipart = [{ name: 'file', value: PNG, fileName: 'a.png' }]
  const file = {
    headers: { 'content-type': 'application/x-ndjson' },
    body: '{"name":"refused"}\n'.repeat(300_000),
  }
  const long = await client.request<{ data: { id: number } }>('POST', '/manage/imports', file)
  const calls: Record<string, [path: string, options: RequestOptions]> = {
    'POST /manage/imports/{id}/cancel': [`/manage/imports/${long.json.data.id}/cancel`, {}],
    'POST /manage/imports': ['/manage/imports', { ...file, body: '{}' }],
    'POST /manage/images': ['/manage/images', { multipart }],
    'PATCH /manage/account': ['/manage/account', { json: { contact_email: 'it@b.example' } }],
    'POST /manage/users': ['/manage/users', { json: { email: 'a@b.example', name: 'A' } }],
    'PATCH /manage/users/{id}': [`/manage/users/${userId}`, { json: { name: 'M' } }],
    'POST /manage/users/{id}/calendar': [`/manage/users/${userId}/calendar`, {}],
    'DELETE /manage/users/{id}/calendar': [`/manage/users/${userId}/calendar`, {}],
    'DELETE /manage/users/{id}': [`/manage/users/${userId}`, {}],
    'POST /manage/tokens': ['/manage/tokens', { json: { name: 'T', scopes: ['leads'] } }],
    'DELETE /manage/tokens/{id}': [`/manage/tokens/${lent.id}`, {}],
    'POST /manage/webhook-endpoints': ['/manage/webhook-endpoints', { json: { url: 'https://a.example/' } }],
    'PATCH /manage/webhook-endpoints/{id}': [endpoint, { json: { description: 'Changed' } }],
    'POST /manage/webhook-endpoints/{id}/rotate-secret': [`${endpoint}/rotate-secret`, { json: {} }],
    'POST /manage/webhook-endpoints/{id}/test': [`${endpoint}/test`, {}],
    'POST /manage/webhook-endpoints/{id}/recover': [
      `${endpoint}/recover`,
      { json: { since: '2026-01-01T00:00:00Z' } },
    ],
    'POST /manage/webhook-endpoints/{id}/portal': [`${endpoint}/portal`, {}],
    'POST /manage/deliveries/{id}/retry': [
      `/manage/deliveries/${await firstOf('/manage/deliveries')}/retry`,
      {},
    ],
    'POST /manage/notifications/{id}/retry': [
      `/manage/notifications/${await firstOf('/manage/notifications')}/retry`,
      {},
    ],
    'POST /manage/webhook-endpoints/{id}/replay': [`${endpoint}/replay`, { json: { state: 'all' } }],
    'DELETE /manage/webhook-endpoints/{id}/replay/{replay_id}': [`${endpoint}/replay/${counted.id + 1}`, {}],
    'DELETE /manage/webhook-endpoints/{id}': [endpoint, {}],
    'POST /manage/leads/{reference}/erase': [`/manage/leads/${reference}/erase`, {}],
  }
  const routes = routesOf(await fetchOpenApi(client)).map(({ method, path }) => `${method} ${path}`)
  const changing = routes.filter((route) => /^(?!GET).* \/manage\//.test(route))
  expect(Object.keys(calls).toSorted()).toEqual(
    changing.filter((route) => !NOT_AUDITED.includes(route)).toSorted(),
  )

  const told: [string, string[]][] = []
  const secrets = [secret, first, lent.token]
  for (const [index, [route, [path, options]]] of Object.entries(calls).entries()) {
    const id = `audited-${index}`
    const answer = await client.request<{ data: { token?: string; secret?: string; url?: string } }>(
      route.split(' ')[0]!,
      path,
      {
        ...options,
        headers: { ...options.headers, 'x-request-id': id },
      },
    )
    const expected = /^POST .*\/(erase|imports)$/.test(route) ? 202 : 200
    expect([route, answer.status, answer.text]).toEqual([route, expected, answer.text])
    const { token, secret: made, url } = answer.json.data
    for (const shown of [token, made, url?.match(/lw_cal_[^.]+/)?.[0]]) if (shown) secrets.push(shown)
    const entries = (await auditOf()).data.filter(({ request_id }) => request_id === id)
    expect(entries).toEqual(
      entries.map(() =>
        expect.objectContaining({ token: { id: expect.any(Number), name: expect.any(String) } }),
      ),
    )
    told.push([route, entries.map(({ action }) => action)])
  }
  expect(told.map(([, actions]) => actions)).toEqual([
    ['import.cancelled'],
    ['import.created'],
    ['image.created'],
    ['account.updated'],
    ['user.created'],
    ['user.updated'],
    ['user.calendar_created'],
    ['user.calendar_revoked'],
    ['user.removed'],
    ['token.created'],
    ['token.revoked'],
    ['webhook_endpoint.created'],
    ['webhook_endpoint.updated'],
    ['webhook_endpoint.secret_rotated'],
    ['webhook_endpoint.tested'],
    ['webhook_endpoint.recovered'],
    // The link of a portal.
    ['token.created'],
    ['delivery.retried'],
    ['notification.retried'],
    ['webhook_endpoint.replayed'],
    ['webhook_endpoint.replay_cancelled'],
    ['webhook_endpoint.deleted'],
    ['lead.erased'],
  ])
  const { data, next_cursor } = await auditOf()
  expect(data.map(({ at }) => at)).toEqual(
    data
      .map(({ at }) => String(at))
      .toSorted()
      .toReversed(),
  )
  expect(next_cursor).toBeNull()
  // What an operator did.
  expect(data.at(-1)).toMatchObject({ action: 'account.created', token: null, request_id: null })
  for (const text of secrets) expect(JSON.stringify(data)).not.toContain(text)
  expect(receiver.requests.length).toBeGreaterThan(0)
  const other = await stage.newTenant()
  expect((await auditOf(other)).data.map(({ action }) => action)).toEqual([
    'token.created',
    'account.created',
  ])
})
