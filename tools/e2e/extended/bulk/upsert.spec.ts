import { eventually } from '@leadwire/test-kit'
import { createImports } from '../../support/imports'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../../support/stage'

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

test('64 concurrent requests for 8 external ids create 8 leads, and each request creates a version', async () => {
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
})

test('If-Match prevents a write unless the client knows the current version', async () => {
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

test('a test token changes an existing lead into a test lead only if the request has test: true', async () => {
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

test('sending back a lead with the status test changes nothing', async () => {
  const { json, headers } = await put('a', { ...LEAD, status: 'test' })
  const again = await put('a', await managed(json.data.reference))
  expect([again.status, again.headers['etag']]).toEqual([200, headers['etag']])
  await put('a', { status: 'open', test: true })
  expect(await managed(json.data.reference)).toMatchObject({ status: 'open', test: 1 })
})

test('attributes keep line breaks, lose control characters, and refuse numbers that would lose precision', async () => {
  const { json } = await put('a', { ...LEAD, attributes: { note: 'one\u0007\r\ntwo' } })
  expect(await managed(json.data.reference)).toMatchObject({ attributes: { note: 'one\r\ntwo' } })
  const refused = await put('a', { attributes: { ad_id: 2 ** 53 } })
  expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ['attributes.ad_id']])
})

test.each<[string, object, string[]]>([
  ['a new lead without required fields', { name: 'x' }, ['first_name', 'email', 'status']],
  ['null for a required field', { ...LEAD, name: null }, ['name']],
  ['an unknown status', { ...LEAD, status: 'x' }, ['status']],
  ['an unknown user', { ...LEAD, user_id: 999_999 }, ['user_id']],
  ['an invalid name of an attribute', { ...LEAD, attributes: { Utm: 'x' } }, ['attributes']],
  ['a list as an attribute', { ...LEAD, attributes: { a: [] } }, ['attributes.a']],
  ['a long attribute', { ...LEAD, attributes: { a: 'é'.repeat(600) } }, ['attributes.a']],
])('%s is refused with errors for the fields', async (_what, json, fields) => {
  const { status, json: problem } = await put('a', json)
  expect(status).toBe(422)
  expect(Object.keys(problem.errors)).toEqual(expect.arrayContaining(fields))
})

test('an external id that is blank, invalid, too long or taken is refused', async () => {
  for (const id of [' ', 'x'.repeat(256), 'a\0'])
    expect(Object.keys((await put(id, LEAD)).json.errors)).toEqual(['external_id'])
  const taken = { ...LEAD, external_id: 'a' }
  await tenant.send('POST', '/manage/leads', { json: taken })
  const { status, json } = await tenant.client.request<Upserted>('POST', '/manage/leads', { json: taken })
  expect([status, Object.keys(json.errors)]).toEqual([422, ['external_id']])
})

test('a second import of a file updates the leads that have an external id', async () => {
  const { run, leads } = createImports(tenant)
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

test('leads are found by an attribute, alone, with other filters and in an export', async () => {
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

test('only endpoints that include attributes get them, with each event of the lead', async () => {
  const plain = await tenant.listen({ events: ['lead.created', 'lead.updated'] })
  const full = await tenant.listen({ events: ['lead.created', 'lead.updated'], include: ['attributes'] })
  const attributes = { utm_source: 'newsletter' }
  const { reference } = (await put('a', { ...LEAD, attributes })).json.data
  await tenant.send('PATCH', `/leads/${reference}`, { json: { value: 1 } })
  await tenant.createLead()
  for (const { receiver } of [plain, full]) await eventually(() => expect(receiver.requests).toHaveLength(3))
  const parseBodies = ({ receiver }: typeof plain) =>
    receiver.requests.map(({ body }) => JSON.parse(body.toString()).data)
  expect(parseBodies(plain).filter((data) => 'attributes' in data)).toEqual([])
  const own = parseBodies(full).filter((data) => data.reference === reference)
  expect(own.map((data) => data.attributes)).toEqual([attributes, attributes])
  expect(parseBodies(full).filter((data) => 'attributes' in data)).toHaveLength(2)
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
