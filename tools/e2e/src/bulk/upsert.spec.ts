import { eventually } from '@leadwire/test-kit'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'
import { importsOf } from './import.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

type Upserted = { data: Lead; created: boolean; errors: Record<string, string[]> }

const put = (id: string, json: unknown, { client } = tenant, options: object = {}) =>
  client.request<Upserted>('PUT', `/manage/leads/external/${encodeURIComponent(id)}`, { json, ...options })

const managed = (reference: string) => tenant.send('GET', `/manage/leads/${reference}`)

const CSV_TYPE = { type: 'text/csv' }

test('64 requests for 8 ids at once make 8 leads, and each change is a version of its own', async () => {
  const { receiver } = await tenant.listen({ events: ['lead.created', 'lead.updated'] })
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) => put(`crm-${index % 8}`, { ...LEAD, name: `Lead ${index}` })),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(64).fill(200))
  expect(answers.filter(({ json }) => json.created)).toHaveLength(8)
  const references = new Set(answers.map(({ json }) => json.data.reference))
  expect(references.size).toBe(8)
  const { json } = await tenant.client.request<{ total: number }>('GET', '/leads')
  expect(json.total).toBe(8)
  await eventually(() => expect(receiver.requests).toHaveLength(64))
  for (const reference of references) {
    const versions = receiver.requests
      .filter(({ body }) => JSON.parse(body.toString()).data.reference === reference)
      .map(({ headers }) => Number(headers['webhook-lead-version']))
    expect(versions.toSorted((a, b) => a - b)).toEqual(versions.map((_, index) => index + 1))
  }
}, 60_000)

test('with If-Match nothing is written unless the lead is what the client knows', async () => {
  const write = (ifMatch: string, json: object) =>
    put('a', json, tenant, { headers: { 'if-match': ifMatch } }).then(({ status }) => status)
  expect([await write('*', LEAD), await write('"1-1"', LEAD)]).toEqual([412, 412])
  const { headers } = await put('a', LEAD)
  const etag = String(headers['etag'])
  expect([await write(etag, { value: 1 }), await write(etag, { value: 2 })]).toEqual([200, 412])
  expect([await write('*', { value: 3 }), await write('garbage', { value: 4 })]).toEqual([200, 400])
  expect(await write(etag, { user_id: 999_999 })).toBe(422)
  expect((await put('a', {})).json.data['value']).toBe(3)
})

test('a test token makes no test lead of one that is there, unless it says so', async () => {
  await put('a', LEAD)
  const test = { name: 'Test', scopes: ['manage'], test: true }
  const { token } = await tenant.send<{ token: string }>('POST', '/manage/tokens', { json: test })
  for (const [json, expected] of [
    [{ test: false }, 0],
    [{ value: 2 }, 0],
    [{ test: true }, 1],
  ] as const)
    expect((await put('a', json, tenant, { token })).json.data['test']).toBe(expected)
})

test('what is shown of a lead with the status test, sent back, changes nothing', async () => {
  const { json, headers } = await put('a', { ...LEAD, status: 'test' })
  const again = await put('a', await managed(json.data.reference))
  expect([again.status, again.headers['etag']]).toEqual([200, headers['etag']])
  await put('a', { status: 'open', test: true })
  expect(await managed(json.data.reference)).toMatchObject({ status: 'open', test: 1 })
})

test('attributes keep line breaks, lose control characters, and take no number that would change', async () => {
  const { json } = await put('a', { ...LEAD, attributes: { note: 'one\u0007\r\ntwo' } })
  expect(await managed(json.data.reference)).toMatchObject({ attributes: { note: 'one\r\ntwo' } })
  const refused = await put('a', { attributes: { ad_id: 2 ** 53 } })
  expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ['attributes.ad_id']])
})

test('what is absent stays, null clears, and the answers of the interface never show what is ours', async () => {
  const attributes = { utm_source: 'newsletter', gclid: 'G', returning: true, visits: 3 }
  const made = await put('a/b c', { ...LEAD, description: 'Call', mobile: '07700 900123', attributes })
  expect(made.json).toMatchObject({ created: true, data: { description: 'Call' } })
  const { reference } = made.json.data
  const changed = await put('a/b c', {
    description: null,
    mobile: null,
    value: 5,
    attributes: { gclid: null, visits: 4 },
  })
  expect(changed.json).toMatchObject({
    created: false,
    data: { reference, description: null, value: 5, customer: { mobile: null, email: LEAD.email } },
  })
  expect(await managed(reference)).toEqual({
    ...changed.json.data,
    external_id: 'a/b c',
    attributes: { utm_source: 'newsletter', returning: true, visits: 4 },
    duplicate_of: null,
  })
  for (const path of [`/leads/${reference}`, '/leads', '/leads?attribute=visits:4']) {
    const { text } = await tenant.client.request('GET', path)
    expect(text).toContain(reference)
    expect(text).not.toMatch(/utm_source|external_id|attributes/)
  }
  expect(changed.text).not.toMatch(/utm_source|external_id|attributes/)
  const same = await put('a/b c', { value: 5, attributes: { visits: 4 } })
  expect(same.json.data).toEqual(changed.json.data)
  const history = await tenant.send<{ changes: unknown[] }[]>('GET', `/manage/leads/${reference}/history`)
  expect(history).toHaveLength(2)
  expect(history[0]!.changes).toEqual(
    expect.arrayContaining([
      { field: 'value', from: 0, to: 5 },
      { field: 'mobile', from: null, to: null },
      { field: 'attributes', from: null, to: null },
    ]),
  )
})

test.each<[string, object, string[]]>([
  ['a new one without what it needs', { name: 'x' }, ['first_name', 'email', 'status']],
  ['null for what must be there', { ...LEAD, name: null }, ['name']],
  ['a wrong status', { ...LEAD, status: 'x' }, ['status']],
  ['an unknown user beside another error', { ...LEAD, email: 'x', user_id: 999_999 }, ['email', 'user_id']],
  ['an attribute that may not be', { ...LEAD, attributes: { Utm: 'x' } }, ['attributes']],
  ['a list as an attribute', { ...LEAD, attributes: { a: [] } }, ['attributes.a']],
  ['a long attribute', { ...LEAD, attributes: { a: 'é'.repeat(600) } }, ['attributes.a']],
])('%s is refused by the names of the fields', async (_what, json, fields) => {
  const { status, json: problem } = await put('a', json)
  expect(status).toBe(422)
  expect(Object.keys(problem.errors)).toEqual(expect.arrayContaining(fields))
})

test('an id that says nothing or is too long is refused', async () => {
  for (const id of [' ', 'x'.repeat(256), 'a\0'])
    expect(Object.keys((await put(id, LEAD)).json.errors)).toEqual(['external_id'])
  const taken = { ...LEAD, external_id: 'a' }
  await tenant.send('POST', '/manage/leads', { json: taken })
  const { status, json } = await tenant.client.request<Upserted>('POST', '/manage/leads', { json: taken })
  expect([status, Object.keys(json.errors)]).toEqual([422, ['external_id']])
})

test('of a batch each row has its own result, in order, and a key repeats all of it', async () => {
  const leads = [
    { ...LEAD, name: 'One' },
    { ...LEAD, email: 'x', name: null },
    5,
    { ...LEAD, external_id: 'a', name: 'Two', attributes: { n: 1 } },
    { external_id: 'a', value: 9 },
    { external_id: 'b' },
    { ...LEAD, user_id: 999_999 },
  ]
  const request = { json: { leads }, headers: { 'idempotency-key': 'batch' } }
  const post = () =>
    tenant.client.request<{ data: Partial<Upserted>[] }>('POST', '/manage/leads/batch', request)
  const { status, json, text } = await post()
  expect(status).toBe(200)
  expect(json.data.map(({ data, errors }) => data?.['name'] ?? Object.keys(errors!).toSorted())).toEqual([
    'One',
    ['email', 'name'],
    ['row'],
    'Two',
    'Two',
    expect.arrayContaining(['name', 'email']),
    ['user_id'],
  ])
  expect(json.data[4]!.data).toMatchObject({ reference: json.data[3]!.data!.reference, value: 9 })
  const again = await post()
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([text, 'true'])
  for (const wrong of [[], 'x', undefined, Array(101).fill(LEAD)]) {
    const refused = await tenant.client.request<Upserted>('POST', '/manage/leads/batch', {
      json: { leads: wrong },
    })
    expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ['leads']])
  }
})

test('a file that is imported twice changes leads instead of doubling them', async () => {
  const { run, leads } = importsOf(tenant)
  const header = [...Object.keys(LEAD), 'external_id', 'description', 'Attributes.UTM Source', 'attributes']
  const row = (id: string, description: string) =>
    [...Object.values(LEAD), id, description, 'import', '"{""visits"":3}"'].join()
  const file = (description: string) =>
    [header.join(), row('a', description), row('b', 'B'), row('', 'C')].join('\n')
  expect(await run(file('A'), CSV_TYPE)).toMatchObject({ rows_created: 3, rows_failed: 0 })
  const first = await leads()
  expect(first.map(({ external_id }) => external_id)).toEqual(['a', 'b', null])
  expect(first[0]!['attributes']).toEqual({ visits: 3, utm_source: 'import' })
  await run(file(''), CSV_TYPE)
  const second = await leads()
  expect(second).toHaveLength(4)
  expect(second[0]).toMatchObject({ reference: first[0]!.reference, description: null })
  expect(second[1]).toEqual(first[1])
  const partial = await run(`external_id,status\na,sold\nc,sold\n`, CSV_TYPE)
  expect(partial).toMatchObject({ rows_created: 1, rows_failed: 1 })
  expect((await leads())[0]).toMatchObject({
    status: 'sold',
    customer: { email: LEAD.email },
  })
})

test('an export that is imported again changes nothing of leads with an id', async () => {
  await put('a', { ...LEAD, description: '=1', attributes: { quotes: '","quotes":[', n: 1.5 } })
  const { run, leads } = importsOf(tenant)
  const before = await leads()
  for (const [format, type] of [
    ['csv', 'text/csv'],
    ['ndjson', 'application/x-ndjson'],
  ]) {
    const { bytes } = await tenant.client.request('GET', `/manage/exports?format=${format}`)
    expect(await run(bytes, { type: type! })).toMatchObject({ rows_created: 1, rows_failed: 0 })
    expect(await leads()).toEqual(before)
  }
})

test('leads are found by an attribute, also with other filters and in an export', async () => {
  for (const [name, source] of [
    ['One', 'a'],
    ['Two', 'b'],
    ['Three', 'a'],
  ])
    await tenant.send('POST', '/manage/leads', {
      json: { ...LEAD, name, status: name === 'One' ? 'sold' : 'open', attributes: { source, n: 1 } },
    })
  const find = async (query: string) =>
    (await tenant.client.request<{ data: { name: string }[] }>('GET', `/leads?${query}`)).json.data.map(
      ({ name }) => name,
    )
  expect(await find('attribute=source:a')).toEqual(['Three', 'One'])
  expect(await find('attribute=source:a&sort=created_at')).toEqual(['One', 'Three'])
  expect(await find('attribute=source:a&sort=-updated_at')).toEqual(['Three', 'One'])
  expect(await find('attribute=source:a&status=sold')).toEqual(['One'])
  expect(await find('attribute=n:1&cursor=')).toEqual(['Three', 'Two', 'One'])
  expect(await find('attribute=source:')).toEqual([])
  const { text } = await tenant.client.request('GET', '/manage/exports?attribute=source:b')
  expect(text).toContain('"Two"')
  expect(text.trim().split('\n')).toHaveLength(1)
  for (const query of ['attribute=source', 'attribute=Source:a', 'attribute[source]=a'])
    expect((await tenant.client.request('GET', `/leads?${query}`)).status).toBe(422)
})

test('only endpoints that include attributes get them, in every delivery of them', async () => {
  const plain = await tenant.listen({ events: ['lead.created', 'lead.updated'] })
  const full = await tenant.listen({ events: ['lead.created', 'lead.updated'], include: ['attributes'] })
  const attributes = { utm_source: 'newsletter' }
  const { reference } = (await put('a', { ...LEAD, attributes })).json.data
  await tenant.send('PATCH', `/leads/${reference}`, { json: { value: 1 } })
  await tenant.createLead()
  for (const { receiver } of [plain, full]) await eventually(() => expect(receiver.requests).toHaveLength(3))
  const bodiesOf = ({ receiver }: typeof plain) =>
    receiver.requests.map(({ body }) => JSON.parse(body.toString()).data)
  expect(bodiesOf(plain).filter((data) => 'attributes' in data)).toEqual([])
  const own = bodiesOf(full).filter((data) => data.reference === reference)
  expect(own.map((data) => data.attributes)).toEqual([attributes, attributes])
  expect(bodiesOf(full).filter((data) => 'attributes' in data)).toHaveLength(2)
  const request = async (id: number) => {
    const { json } = await tenant.client.request<{ data: { id: number }[] }>(
      'GET',
      `/manage/deliveries?endpoint_id=${id}&lead_reference=${reference}`,
    )
    return tenant.send<{ request: { body: string } }>('GET', `/manage/deliveries/${json.data[0]!.id}`)
  }
  expect(JSON.stringify(await request(full.id))).toContain('utm_source')
  expect(JSON.stringify(await request(plain.id))).not.toContain('utm_source')
  expect(
    await tenant.send('PATCH', `/manage/webhook-endpoints/${full.id}`, { json: { include: [] } }),
  ).toMatchObject({
    include: [],
  })
  const { text } = await tenant.client.request('GET', '/manage/events')
  expect(text).toContain(reference)
  expect(text).not.toContain('utm_source')
})

test('an erasure removes attributes, external id and what webhooks had of them', async () => {
  const { receiver } = await tenant.listen({ include: ['attributes'] })
  const { reference } = (await put('secret-id', { ...LEAD, attributes: { note: 'secret-note' } })).json.data
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await tenant.client.request('POST', `/manage/leads/${reference}/erase`)
  await eventually(
    async () =>
      expect(await tenant.send('GET', `/manage/leads/${reference}/erasure`)).toMatchObject({
        status: 'done',
      }),
    { timeoutMs: 60_000 },
  )
  for (const path of [`/manage/leads/${reference}`, `/manage/leads/${reference}/export`, '/manage/exports']) {
    const { status, text } = await tenant.client.request('GET', path)
    expect([path, status, /secret/.test(text)]).toEqual([path, 200, false])
  }
  const again = await put('secret-id', LEAD)
  expect(again.json.created).toBe(true)
}, 90_000)

test('an export of a lead has all of it', async () => {
  const { reference } = (await put('a', { ...LEAD, attributes: { utm_source: 'x' } })).json.data
  expect(await tenant.send('GET', `/manage/leads/${reference}/export`)).toMatchObject({
    lead: { external_id: 'a', attributes: { utm_source: 'x' } },
  })
})
