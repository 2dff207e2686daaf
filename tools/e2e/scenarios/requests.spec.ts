import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../support/client'
import { FILE, fillPath, furnish, IMAGE } from '../support/furnish'
import { fetchOpenApi, listRoutes } from '../support/openapi'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

const NOWHERE = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const RENAMED = [{ name: 'name', value: 'Back' }, ...IMAGE]
const PROBLEM_TYPE = /^application\/problem\+json/

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const post = (path: string, options: RequestOptions) =>
  tenant.client.request<{ data: Lead; errors?: object }>('POST', path, options)

const countLeads = async () => (await tenant.client.request<{ total: number }>('GET', '/leads')).json.total

const typed = (type: string, body: string | Buffer): RequestOptions => ({
  body,
  headers: { 'content-type': type },
})

const keyed = (key: string) => ({ 'idempotency-key': key })

/** An invalid request with the expected status, and the fields that the errors of a 422 must name. */
type Refusal = [path: string, options: RequestOptions, status: number, fields?: string[]]

const listRefusals = (reference: string, userId: number): Refusal[] => {
  const json = 'application/json'
  const item = { product_style_id: 1, name: 'I', price: 1, image_id: 999_999_999 }
  const quotes = [{ items: [item, { ...item, price: 'x' }] }]
  const product_style = { sku: 'S', name: 'S', product: { name: 'P' } }
  const unknownImage = [{ items: [{ ...item, product_style }] }]
  const entry = { notify: false, user_id: userId, date: '01/02/2027 10:00' }
  const lead = `/leads/${reference}`
  const publishable = { name: 'Form', publishable: true, origins: ['https://www.example.com'] }
  return [
    ['/leads', typed('text/plain', JSON.stringify(LEAD)), 415],
    ['/leads', { body: JSON.stringify(LEAD) }, 415],
    ['/leads', { multipart: FILE }, 415],
    ['/leads', typed(`${json}; charset=latin1`, JSON.stringify(LEAD)), 415],
    ['/leads', { json: LEAD, headers: { 'content-encoding': 'gzip' } }, 415],
    ['/leads', typed(json, '{"name":'), 400],
    ['/leads', typed(json, Buffer.from('{"name":"\xe9"}', 'latin1')), 400],
    ['/leads', typed('application/x-www-form-urlencoded', 'name=%ff'), 400],
    ['/leads', { json: LEAD, headers: keyed('') }, 400],
    ['/leads', { json: LEAD, headers: keyed('x'.repeat(256)) }, 400],
    ['/leads', { json: { ...LEAD, extra: 'x'.repeat(2 ** 20) } }, 413],
    ['/leads', typed(json, '[]'), 422],
    ['/leads', {}, 422, Object.keys(LEAD)],
    ['/leads', { json: { ...LEAD, email: 'ada', status: 'won' } }, 422, ['email', 'status']],
    ['/leads', { json: { ...LEAD, referrer: 'Direct', name: '' } }, 422, ['name', 'referrer']],
    ['/leads', { json: { ...LEAD, postcode: 'nowhere', phone: '' } }, 422, ['phone', 'postcode']],
    ['/leads', { json: { ...LEAD, user_id: 999_999_999 } }, 422, ['user_id']],
    [
      '/manage/leads',
      { json: { ...LEAD, referrer: 'Rumour', quotes, attributes: { a: [] } } },
      422,
      [
        'attributes.a',
        'quotes.0.items.0.product_style',
        'quotes.0.items.1.price',
        'quotes.0.items.1.product_style',
        'referrer',
      ],
    ],
    ['/manage/leads', { json: { ...LEAD, quotes: unknownImage } }, 422, ['quotes.0.items.0.image_id']],
    [`${lead}/appointments`, { json: {} }, 422, ['date', 'notify', 'user_id']],
    [`${lead}/callbacks`, { json: { ...entry, date: '2027-02-01 10:00' } }, 422, ['date']],
    [`${lead}/callbacks`, { json: { ...entry, notify: 'perhaps' } }, 422, ['notify']],
    [`${lead}/attachments`, { multipart: IMAGE }, 422, ['name']],
    [`${lead}/attachments`, { json: {} }, 415],
    [`${NOWHERE}/attachments`, { multipart: FILE }, 404],
    [`${NOWHERE}/appointments`, { json: {} }, 404],
    ['/leads/nonsense/callbacks', { json: entry }, 404],
    ['/manage/leads/batch', { json: { leads: [] } }, 422, ['leads']],
    ['/manage/leads/bulk', { json: { references: [], set: { value: 1 } } }, 422, ['references', 'set.value']],
    ['/manage/leads/bulk', { json: { references: ['nonsense'], set: {} } }, 422, ['references.0', 'set']],
    ['/manage/users', { json: { email: 'sam' } }, 422, ['email', 'name']],
    ['/manage/users', { json: { email: 'SAM@example.com', name: 'S' } }, 422, ['email']],
    ['/manage/tokens', { json: { name: 'T', scopes: ['leads', 'root'] } }, 422, ['scopes.1']],
    ['/manage/tokens', { json: { ...publishable, origins: [] } }, 422, ['origins']],
    ['/manage/tokens', { json: { ...publishable, origins: ['*'] } }, 422, ['origins.0']],
    ['/manage/tokens', { json: { ...publishable, scopes: ['leads'] } }, 422, ['scopes']],
    ['/manage/tokens', { json: { ...publishable, endpoint_id: 1 } }, 422, ['endpoint_id']],
    ['/manage/tokens', { json: { ...publishable, return_url: 'javascript:alert(1)' } }, 422, ['return_url']],
    ['/manage/tokens', { json: { ...publishable, honeypot: 'email' } }, 422, ['honeypot']],
    ['/manage/webhook-endpoints', { json: { url: 'ftp://crm.example/' } }, 422, ['url']],
    ['/manage/images', { multipart: [{ name: 'file', value: 'text', fileName: 'a.png' }] }, 422, ['file']],
    ['/manage/imports', typed('text/csv', ''), 422],
    ['/manage/imports', typed(json, '{}'), 415],
  ]
}

test('an invalid request gets a problem with all invalid fields, and stores nothing', async () => {
  const lead = await tenant.createLead()
  const userFields = { email: 'sam@example.com', name: 'Sam' }
  const { id: userId } = await tenant.send('POST', '/manage/users', { json: userFields })
  for (const [path, options, status, fields] of listRefusals(lead.reference, userId)) {
    const answer = await post(path, options)
    const { errors, ...problem } = answer.json
    const refused = { path, options, status: answer.status, fields: errors && Object.keys(errors).toSorted() }
    if (fields) expect(refused).toEqual({ path, options, status, fields: fields.toSorted() })
    else expect(refused).toMatchObject({ path, status })
    expect(answer.headers['content-type']).toMatch(PROBLEM_TYPE)
    expect(problem).toEqual({
      type: expect.stringMatching(/^\/problems#/),
      title: expect.any(String),
      status,
      detail: expect.any(String),
      request_id: answer.headers['x-request-id'],
    })
  }
  expect(await tenant.send('GET', `/leads/${lead.reference}`)).toEqual(lead)
  expect(await countLeads()).toBe(1)
})

test('an unknown path gets 404, another method 405 with the allowed ones, and HEAD the response to GET without body', async () => {
  const { client } = tenant
  const { reference } = await tenant.createLead()
  for (const path of ['/lead', '/leads/statuses/x', '/manage', '//leads', '/leads/%00', NOWHERE]) {
    const { status, headers } = await client.request('GET', path)
    expect([path, status, headers['content-type']]).toEqual([path, 404, expect.stringMatching(PROBLEM_TYPE)])
  }
  const allowed: [method: string, path: string, allow: string[]][] = [
    ['PUT', '/leads', ['GET', 'HEAD', 'POST']],
    ['POST', '/leads/statuses', ['GET', 'HEAD']],
    ['DELETE', `/leads/${reference}`, ['GET', 'HEAD', 'PATCH']],
    ['GET', `/leads/${reference}/appointments/1`, ['DELETE', 'PATCH']],
    ['PUT', '/manage/tokens', ['GET', 'HEAD', 'POST']],
    ['POST', '/healthz', ['GET', 'HEAD']],
  ]
  for (const [method, path, allow] of allowed) {
    const { status, headers } = await client.request(method, path)
    const found = String(headers['allow']).split(', ').toSorted()
    expect([method, path, status, found]).toEqual([method, path, 405, allow])
    expect(headers['content-type']).toMatch(PROBLEM_TYPE)
  }
  for (const path of ['/leads', `/leads/${reference}`, '/leads/statuses/', '/manage/exports', '/healthz']) {
    const [get, head] = [await client.request('GET', path), await client.request('HEAD', path)]
    expect([path, get.status, head.status, head.text]).toEqual([path, 200, 200, ''])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  }
})

test('each operation with an Idempotency-Key runs once, and its response is repeated byte for byte', async () => {
  const { identify, describe } = await furnish(tenant)
  const { client } = tenant
  const routes = listRoutes(await fetchOpenApi(client))
  const repeatable = routes.filter(({ operation }) =>
    operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
  )
  expect(repeatable.length).toBeGreaterThanOrEqual(19)
  /** Lists the ids of the records at a path that supports GET. */
  const listIds = async (path: string, address: string) => {
    if (!routes.some((route) => route.path === path && route.method === 'GET')) return []
    return (await tenant.send<{ id: number }[]>('GET', address)).map(({ id }) => id)
  }
  for (const route of repeatable) {
    const { operationId } = route.operation
    const address = fillPath(route.path, identify(route.path))
    const options = describe(route)
    const headers = { ...options.headers, ...keyed(operationId) }
    const first = await client.request(route.method, address, { ...options, headers })
    expect([operationId, first.status, first.text]).toEqual([operationId, expect.any(Number), first.text])
    expect(first.status).toBeLessThan(300)
    const ids = await listIds(route.path, address)
    const second = await client.request(route.method, address, { ...options, headers })
    expect([operationId, second.status, second.text]).toEqual([operationId, first.status, first.text])
    const replayed = [first, second].map((answer) => answer.headers['idempotency-replayed'])
    expect([operationId, replayed]).toEqual([operationId, [undefined, 'true']])
    expect([operationId, await listIds(route.path, address)]).toEqual([operationId, ids])
  }
  // The account had one lead. Each of three operations has created another lead.
  expect(await countLeads()).toBe(4)
})

test('fifty requests with one key at the same time create one lead and one event', async () => {
  const { receiver } = await tenant.listen()
  const createAll = () =>
    Promise.all(Array.from({ length: 50 }, () => post('/leads', { json: LEAD, headers: keyed('once') })))
  const answers = await createAll()
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(
    refused.map(() => [409, '1']),
  )
  const repeated = await createAll()
  const created = [...answers.filter(({ status }) => status === 200), ...repeated]
  expect(created.length).toBeGreaterThan(50)
  expect(new Set(created.map(({ text }) => text)).size).toBe(1)
  expect(await countLeads()).toBe(1)
  const last = await tenant.createLead()
  await eventually(() =>
    expect(receiver.requests.some(({ body }) => body.includes(last.reference))).toBe(true),
  )
  expect(receiver.requests).toHaveLength(2)
})

test('a used key is refused for another request, an invalid request does not use its key, and keys belong to tokens', async () => {
  const { reference } = await tenant.createLead()
  const csv = (name: string) =>
    typed('text/csv', `${Object.keys(LEAD)}\n${Object.values({ ...LEAD, name })}\n`)
  const endpoint = (path: string) => ({ json: { url: `http://127.0.0.1:9/${path}` } })
  type Case = [path: string, invalid: RequestOptions, valid: RequestOptions, other: RequestOptions]
  const cases: Case[] = [
    ['/leads', { json: [] }, { json: LEAD }, { json: { ...LEAD, name: 'Other' } }],
    [`/leads/${reference}/attachments`, { multipart: IMAGE }, { multipart: FILE }, { multipart: RENAMED }],
    ['/manage/imports', typed('text/csv', ''), csv('one'), csv('other')],
    ['/manage/webhook-endpoints', { json: {} }, endpoint('a'), endpoint('b')],
  ]
  for (const [path, invalid, valid, other] of cases) {
    const send = (options: RequestOptions) =>
      post(path, { ...options, headers: { ...options.headers, ...keyed(path) } })
    expect([path, (await send(invalid)).status]).toEqual([path, 422])
    expect([path, (await send(valid)).status]).toEqual([path, path === '/manage/imports' ? 202 : 200])
    const refused = await send(other)
    expect([path, refused.status, Object.keys(refused.json.errors!)]).toEqual([
      path,
      422,
      ['idempotency_key'],
    ])
  }
  const another = await stage.newTenant()
  const { token } = await tenant.newToken({})
  const leads = [
    await tenant.send('POST', '/leads', { json: LEAD, headers: keyed('/leads') }),
    await tenant.send('POST', '/leads', { json: LEAD, headers: keyed('/leads'), token }),
    await another.send('POST', '/leads', { json: LEAD, headers: keyed('/leads') }),
  ]
  expect(new Set(leads.map((lead) => lead.reference)).size).toBe(3)
})
