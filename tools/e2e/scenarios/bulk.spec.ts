import { createLeadwire } from '@leadwire/client'
import { eventually } from '@leadwire/test-kit'
import { parse } from 'csv-parse/sync'
import { IMAGE } from '../support/furnish'
import { COLUMNS, createImports, renderCsv, renderNdjson } from '../support/imports'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

const NDJSON = { type: 'application/x-ndjson' }

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  // Enables the detection of suspected duplicates, which is off by default.
  stage = await joinStage({ env: { DUPLICATE_WINDOW: '90d' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

type Upserted = { data: Lead; created: boolean; errors: Record<string, string[]> }

const upsert = (id: string, json: object, headers = {}) =>
  tenant.client.request<Upserted>('PUT', `/manage/leads/external/${encodeURIComponent(id)}`, {
    json,
    headers,
  })

const retrieveManaged = (reference: string) => tenant.send('GET', `/manage/leads/${reference}`)

const readExport = async (query = '') => {
  const { status, text } = await tenant.client.request('GET', `/manage/exports${query}`)
  expect(status).toBe(200)
  return text
}

const listNames = (leads: { [field: string]: unknown }[]) => leads.map(({ name }) => name)

test('a lead with an external id is created and then updated: null clears a field, and omitted fields keep their values', async () => {
  const attributes = { utm_source: 'news', gclid: 'G', visits: 3 }
  const created = await upsert('a/b c', {
    ...LEAD,
    description: 'Call',
    mobile: '07700 900123',
    attributes,
  })
  expect(created).toMatchObject({ status: 200, json: { created: true, data: { description: 'Call' } } })
  const { reference } = created.json.data
  const change = { description: null, mobile: null, value: 5, attributes: { gclid: null, visits: 4 } }
  const changed = await upsert('a/b c', change)
  expect(changed.json).toMatchObject({
    created: false,
    data: { reference, description: null, value: 5, customer: { mobile: null, email: LEAD.email } },
  })
  const managed = await retrieveManaged(reference)
  expect(managed).toEqual({
    ...changed.json.data,
    external_id: 'a/b c',
    attributes: { utm_source: 'news', visits: 4 },
    duplicate_of: null,
    user: null,
  })
  // The operations of the lead API return none of the fields that Leadwire adds.
  for (const path of [`/leads/${reference}`, '/leads']) {
    const { text } = await tenant.client.request('GET', path)
    expect([path, /utm_source|external_id|attributes/.test(text)]).toEqual([path, false])
  }
  const same = await upsert('a/b c', managed)
  expect([same.status, same.headers['etag']]).toEqual([200, changed.headers['etag']])
  const history = await tenant.send<{ changes: object[] }[]>('GET', `/manage/leads/${reference}/history`)
  expect(history).toHaveLength(2)
  expect(history[0]!.changes).toEqual(
    expect.arrayContaining([
      { field: 'value', from: 0, to: 5 },
      // Personal values are not in the history.
      { field: 'mobile', from: null, to: null },
      { field: 'attributes', from: null, to: null },
    ]),
  )
  const stale = await upsert('a/b c', { value: 6 }, { 'if-match': created.headers['etag'] })
  expect(stale.status).toBe(412)

  const racing = await Promise.all(
    Array.from({ length: 16 }, (_, index) => upsert('raced', { ...LEAD, value: index })),
  )
  expect(racing.filter(({ json }) => json.created)).toHaveLength(1)
  expect(new Set(racing.map(({ json }) => json.data.reference)).size).toBe(1)
  const refuse = async (json: object) => Object.keys((await upsert('new', json)).json.errors)
  expect(await refuse({ name: 'x' })).toEqual(expect.arrayContaining(['first_name', 'email', 'status']))
  expect(await refuse({ ...LEAD, attributes: { Utm: 'x', note: [] } })).toEqual(
    expect.arrayContaining(['attributes', 'attributes.note']),
  )
})

test('each row of a batch has its own result, in order', async () => {
  const leads = [
    { ...LEAD, name: 'One' },
    { ...LEAD, email: 'x', name: null },
    5,
    { ...LEAD, external_id: 'a', name: 'Two' },
    { external_id: 'a', value: 9 },
    { ...LEAD, user_id: 999_999 },
  ]
  const { data } = (
    await tenant.client.request<{ data: Partial<Upserted>[] }>('POST', '/manage/leads/batch', {
      json: { leads },
    })
  ).json
  const results = data.map((row) => row.data?.['name'] ?? Object.keys(row.errors!).toSorted())
  expect(results).toEqual(['One', ['email', 'name'], ['row'], 'Two', 'Two', ['user_id']])
  expect(data[4]!.data).toMatchObject({ reference: data[3]!.data!.reference, value: 9 })
  const tooMany = { json: { leads: Array(101).fill(LEAD) } }
  expect(await tenant.client.request('POST', '/manage/leads/batch', tooMany)).toMatchObject({ status: 422 })
})

test('leads are found by field, attribute, time and search term, and a cursor reads each once during creates', async () => {
  const { id } = await tenant.send('POST', '/manage/users', {
    json: { email: 'sam@example.com', name: 'Sam' },
  })
  const add = (change: object) => tenant.send('POST', '/manage/leads', { json: { ...LEAD, ...change } })
  await add({ name: 'porch', referrer: 'Phone', postcode: 'M1 1AE', attributes: { rooms: 3 } })
  await add({ name: 'kitchen', status: 'sold', last_name: 'Hopper', attributes: { rooms: 3 } })
  await add({ name: 'trial', status: 'test' })
  const { updated_at: since } = await add({ name: 'attic', user_id: id })
  const find = async (query: string) => {
    const { json } = await tenant.client.request<{ data: Lead[] }>('GET', `/leads?${query}`)
    return listNames(json.data)
  }
  const expected: [query: string, names: string[]][] = [
    ['status=sold', ['kitchen']],
    ['status=lost', []],
    ['referrer=Phone', ['porch']],
    ['postcode=m1', ['porch']],
    ['test=1', ['trial']],
    ['test=0&status=open', ['attic', 'porch']],
    ['attribute=rooms:3', ['kitchen', 'porch']],
    ['attribute=rooms:3&sort=created_at', ['porch', 'kitchen']],
    [`assigned_to=${id}`, ['attic']],
    [`created_from=${since}`, ['attic']],
    [`created_to=${since}&status=open`, ['porch']],
    [`updated_since=${since}`, ['attic']],
    ['q=hopp', ['kitchen']],
    ['q=ada+m1', ['porch']],
  ]
  for (const [query, names] of expected) {
    // Retries, because a search finds new and changed leads a moment after their commit.
    await eventually(async () => expect([query, await find(query)]).toEqual([query, names]))
  }
  for (const query of ['status=won', 'assigned_to=sam', 'attribute=rooms', 'q=.', 'created_from=yesterday'])
    expect([query, (await tenant.client.request('GET', `/leads?${query}`)).status]).toEqual([query, 422])

  const { leads } = createLeadwire({ baseUrl: stage.system.baseUrl, token: tenant.token })
  const walked: string[] = []
  // The client reads 100 leads at a time, so it needs two requests for these 100 leads and the earlier ones.
  for (let count = 0; count < 100; count += 1) await tenant.createLead({ name: `Lead ${count}` })
  for await (const { name } of leads.list({ filters: { status: 'open' } })) {
    walked.push(name)
    if (walked.length % 40 === 0) await tenant.createLead()
  }
  expect(walked).toEqual([
    ...Array.from({ length: 100 }, (_, index) => `Lead ${99 - index}`),
    'attic',
    'porch',
  ])
})

test('people list leads with user and next date, change every field of a lead, and change many leads at once', async () => {
  const sam = { email: 'sam@example.com', name: 'Sam' }
  const { id: userId } = await tenant.send('POST', '/manage/users', { json: sam })
  const { receiver } = await tenant.listen({ events: ['lead.updated'] })
  const first = await tenant.createLead({ name: 'first', user_id: userId })
  const second = await tenant.createLead({ name: 'second' })
  const entry = { user_id: userId, notify: false, date: '01/02/2020 10:00' }
  const { id } = await tenant.send('POST', `/leads/${first.reference}/callbacks`, { json: entry })
  const list = async (query: string) =>
    (await tenant.client.request<{ data: Lead[] }>('GET', `/manage/leads?${query}`)).json.data
  const [unassigned, assigned] = await list('')
  const customer = { name: 'Ada Lovelace', email: LEAD.email, phone: LEAD.phone, mobile: null }
  const managed = { customer, duplicate_of: null, external_id: null }
  const user = { id: userId, ...sam }
  const next = { kind: 'callback', id, date: '2020-02-01T10:00:00.000000Z', user_id: userId }
  expect(unassigned).toMatchObject({ reference: second.reference, ...managed, user: null, next: null })
  expect(assigned).toMatchObject({ reference: first.reference, ...managed, user, next })
  const expected: [query: string, names: string[]][] = [
    ['user_id=none', ['second']],
    [`user_id=${userId}&status=open`, ['first']],
    ['due=overdue', ['first']],
    ['due=overdue&user_id=none', []],
    ['due=week', []],
  ]
  for (const [query, names] of expected) expect([query, listNames(await list(query))]).toEqual([query, names])

  const path = `/manage/leads/${first.reference}`
  const patch = (json: object, headers = {}) =>
    tenant.client.request<Upserted>('PATCH', path, { json, headers })
  const { headers } = await tenant.client.request('GET', path)
  const change = { last_name: 'King', mobile: '07700 900123', user_id: null, external_id: 'crm-1' }
  const changed = await patch(change, { 'if-match': headers['etag'] })
  expect(changed.json.data).toMatchObject({
    external_id: 'crm-1',
    customer: { name: 'Ada King', mobile: change.mobile, email: LEAD.email },
  })
  expect(await retrieveManaged(first.reference)).toEqual(changed.json.data)
  expect((await patch({ value: 1 }, { 'if-match': headers['etag'] })).status).toBe(412)
  const refused = await patch({ test: true, email: 'x', user_id: userId })
  expect(Object.keys(refused.json.errors).toSorted()).toEqual(['email', 'test'])
  const taken = { status: 422, json: { errors: { external_id: [expect.any(String)] } } }
  const other = `/manage/leads/${second.reference}`
  const give = (external_id: string) => tenant.client.request('PATCH', other, { json: { external_id } })
  expect(await give('crm-1')).toMatchObject(taken)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const event = JSON.parse(receiver.requests[0]!.body.toString())
  expect(event.data.customer).toEqual(changed.json.data['customer'])
  expect(event.data.changes.map(({ field }: { field: string }) => field).toSorted()).toEqual([
    'external_id',
    'last_name',
    'mobile',
    'user',
  ])

  const bulk = (json: object) =>
    tenant.client.request<{ data: object[]; errors: object }>('POST', '/manage/leads/bulk', { json })
  const unknown = '00000000-0000-4000-8000-000000000000'
  const references = [first.reference, unknown, second.reference]
  const set = { status: 'lost', user_id: userId, attributes: { list: 'june' } }
  expect((await bulk({ references, set })).json.data).toEqual([
    { reference: first.reference, updated: true },
    { reference: unknown, errors: { reference: ['There is no lead with this reference.'] } },
    { reference: second.reference, updated: true },
  ])
  expect((await bulk({ references: [first.reference], set })).json.data).toEqual([
    { reference: first.reference, updated: false },
  ])
  expect(listNames(await list(`user_id=${userId}&status=lost&attribute=list:june`))).toEqual([
    'second',
    'first',
  ])
  await eventually(() => expect(receiver.requests).toHaveLength(3))
})

test('a second lead of a person is suspected to be a duplicate, and is marked and unmarked', async () => {
  const events = ['lead.duplicate_suspected']
  const { receiver } = await tenant.listen({ events, filter: { status: ['sold'] } })
  const { reference: first } = await tenant.createLead()
  await tenant.createLead({ first_name: 'Grace', email: 'grace@example.com', phone: '020 7946 0999' })
  const { reference: second } = await tenant.createLead()
  const { reference } = await tenant.createLead({ status: 'sold' })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const { type, data } = JSON.parse(receiver.requests[0]!.body.toString())
  const reasons = ['email', 'phone', 'name_postcode']
  const suspects = [
    { reference: second, reasons },
    { reference: first, reasons },
  ]
  expect({ type, data }).toMatchObject({ type: events[0], data: { reference, suspects } })
  expect(await tenant.send('GET', `/manage/leads/${reference}/duplicates`)).toEqual(data.suspects)

  const mark = (of: string, original: unknown) =>
    tenant.client.request<{ data: object }>('POST', `/manage/leads/${of}/duplicate-of`, {
      json: { reference: original },
    })
  const marked = await mark(reference, first)
  expect(marked.json.data).toMatchObject({ status: 'duplicate', duplicate_of: first })
  expect(await retrieveManaged(reference)).toEqual(marked.json.data)
  for (const original of [reference, 'x', 1]) {
    const refused = { status: 422, json: { errors: { reference: [expect.any(String)] } } }
    expect(await mark(first, original)).toMatchObject(refused)
  }
  const exported = (await readExport()).split('\n').slice(0, -1)
  expect(exported.map((line) => JSON.parse(line).duplicate_of)).toEqual([null, null, null, first])
  expect((await mark(reference, null)).json.data).toMatchObject({ status: 'sold', duplicate_of: null })
})

test('a CSV file from a spreadsheet is imported row by row, and failed rows are listed', async () => {
  const { run, errors, failedRows, leads } = createImports(tenant)
  const { receiver } = await tenant.listen()
  const rest = 'Ada,Lovelace,ada@example.com,020 7946 0123,SW1A 1AA,Website,open'
  const rows = [
    `\uFEFF${COLUMNS.join(',')},value,external_id,Attributes.UTM Source,Mobile Number`,
    `"Bay ""window"", large",${rest},4500,,,x`,
    '',
    `"two\r\nlines — 窓",${rest},,a,news,`,
    `'=1+1,${rest},,,,`,
    `too many,${rest},12,,,,x`,
    `=wrong,${rest.replace('Website', 'Pigeon')},,,,`,
  ]
  const done = await run(`${rows.join('\r\n')}\r\n`)
  expect(done).toMatchObject({
    state: 'finished',
    bytes_read: done.file_size,
    rows_read: 5,
    rows_created: 3,
    rows_failed: 2,
    ignored_columns: [{ name: 'Mobile Number', did_you_mean: 'mobile' }],
    webhooks: false,
  })
  expect(await errors(done.id)).toEqual({
    data: [
      {
        row: 4,
        errors: { row: ['The row has 13 cells, but the header has 12.'] },
        values: expect.objectContaining({ name: 'too many', value: '12', 'column 13': 'x' }),
      },
      {
        row: 5,
        errors: { referrer: [expect.stringContaining('The selected referrer is invalid.')] },
        values: expect.objectContaining({ name: '=wrong', referrer: 'Pigeon', 'Mobile Number': '' }),
      },
    ],
    next_cursor: null,
  })
  const imported = await leads()
  expect(listNames(imported)).toEqual(['Bay "window", large', 'two lines — 窓', '=1+1'])
  expect(imported[1]).toMatchObject({ external_id: 'a', attributes: { utm_source: 'news' } })

  const failed = await failedRows(done.id)
  expect(failed.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="failed-rows-${done.id}.csv"`,
  })
  const lines = parse(failed.text, { bom: true, relax_column_count: true }) as string[][]
  expect(lines).toEqual([
    ['import_row', 'import_errors', ...rows[0]!.slice(1).split(',')],
    [
      '4',
      'The row has 13 cells, but the header has 12.',
      'too many',
      ...rest.split(','),
      '12',
      '',
      '',
      '',
      'x',
    ],
    [
      '5',
      expect.stringContaining('The selected referrer is invalid.'),
      "'=wrong",
      ...rest.replace('Website', 'Pigeon').split(','),
      '',
      '',
      '',
      '',
    ],
  ])
  // Corrects only one of the two rows. The other row fails a second time, now with its row number in the new
  // file.
  const corrected = await run(failed.text.replace(',x\r\n', '\r\n'))
  expect(corrected).toMatchObject({
    rows_created: 1,
    rows_failed: 1,
    ignored_columns: done['ignored_columns'],
  })
  const again = await failedRows(corrected.id)
  expect(again.text.split('\r\n').slice(1)).toEqual([failed.text.split('\r\n')[2]!.replace(/^5/, '2'), ''])
  const last = await run(again.text.replace('Pigeon', 'Phone'))
  expect(last).toMatchObject({ rows_created: 1, rows_failed: 0 })
  expect(await failedRows(last.id)).toMatchObject({ status: 404 })
  expect(listNames(await leads()).slice(3)).toEqual(['too many', '=wrong'])

  expect(await run('external_id,status\na,sold\n')).toMatchObject({ rows_created: 1, rows_failed: 0 })
  expect((await leads())[1]).toMatchObject({ reference: imported[1]!.reference, status: 'sold' })
  expect(await run('name,email,name\na,b,c\n')).toMatchObject({
    state: 'failed',
    failure: 'The header has the column name twice.',
  })
  // The import was created without webhooks, so only the webhook of the next lead arrives.
  const { reference } = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(receiver.requests[0]!.body.includes(reference)).toBe(true)
})

test('a migrated lead keeps its creation time, and is found by it', async () => {
  const { run, errors, leads } = createImports(tenant)
  const rest = 'Ada,Lovelace,ada@example.com,020 7946 0123,SW1A 1AA,Website,open'
  const times = [
    ['2019-05-17T10:30:00.5+01:00', '2019-05-17T09:30:00.500000Z'],
    ['2019-05-17', '2019-05-16T23:00:00.000000Z'],
    ['17/05/2019 09:30', '2019-05-17T08:30:00.000000Z'],
    ['2020-01-17 09:30:15', '2020-01-17T09:30:15.000000Z'],
  ] as const
  const refused = ['2999-01-01', '2019-02-30', '05/17/2019', '1899-12-31', '43602', 'yesterday']
  const rows = [...times.map(([cell]) => cell), '', ...refused].map((cell, index) => `${index},${cell}`)
  const header = ['external_id', 'Created at', ...COLUMNS].join()
  const done = await run([header, ...rows.map((row) => `${row},lead,${rest}`)].join('\n'))
  expect(done).toMatchObject({ rows_created: 5, rows_failed: refused.length, ignored_columns: [] })
  const message = expect.stringContaining('The created at must be a time in the past, such as')
  expect((await errors(done.id)).data.map(({ errors }) => errors)).toEqual(
    refused.map(() => ({ created_at: [message] })),
  )

  const imported = await leads()
  expect(imported.slice(0, 4).map(({ created_at }) => created_at)).toEqual(times.map(([, time]) => time))
  for (const { created_at, updated_at, customer } of imported) {
    expect(customer).toMatchObject({ created_at })
    expect(String(updated_at) > '2026').toBe(true)
  }
  expect(imported[4]!['created_at']).toBe(imported[4]!['updated_at'])

  const find = async (query: string) =>
    (await tenant.send<Lead[]>('GET', `/leads?${query}`)).map(({ id }) =>
      imported.findIndex((lead) => lead.id === id),
    )
  expect(await find('created_to=2019-05-17T09:00:00Z')).toEqual([2, 1])
  expect(await find('created_from=2019-05-17T09:00:00Z&created_to=2020-06-01T00:00:00Z')).toEqual([3, 0])
  expect(await find('created_from=2020-06-01T00:00:00Z&sort=created_at&status=open')).toEqual([4])
  expect(await find('created_to=2019-05-17T00:00:00Z&sort=-updated_at&cursor=')).toEqual([1])
  expect((await readExport('?created_to=2019-05-17T09:00:00Z')).split('\n')).toHaveLength(3)

  // An import sets the creation time of a new lead, and never changes the creation time of an existing lead.
  const lines = `${JSON.stringify({ external_id: '0', status: 'sold', created_at: '2001-01-01' })}\n`
  expect(await run(lines, NDJSON)).toMatchObject({ rows_created: 1, ignored_columns: [] })
  expect((await leads())[0]).toMatchObject({ status: 'sold', created_at: times[0][1] })
  const migrated = { ...LEAD, customer: { created_at: 'never' }, created_at: '2001-01-01T00:00:00Z' }
  expect(await run(`${JSON.stringify(migrated)}\n`, NDJSON)).toMatchObject({ rows_created: 1 })
  expect((await leads())[5]).toMatchObject({ created_at: '2001-01-01T00:00:00.000000Z' })
})

test('lines of JSON are imported, with webhooks on request; an import can be watched to its end or cancelled', async () => {
  const { post, run, errors, failedRows, retrieve } = createImports(tenant)
  const { receiver } = await tenant.listen()
  const lines = `${renderNdjson([
    { name: 'one', company: 'x' },
    { name: 'two', status: '', fax: '' },
  ])}{"name":\n[]\n${renderNdjson([{}])}`
  const done = await run(lines, { ...NDJSON, query: '?webhooks=true' })
  expect(done).toMatchObject({ rows_read: 5, rows_created: 2, rows_failed: 3, webhooks: true })
  expect(done['ignored_columns']).toEqual([
    { name: 'company', did_you_mean: 'company_name' },
    { name: 'fax', did_you_mean: null },
  ])
  expect((await errors(done.id)).data).toEqual([
    {
      row: 2,
      errors: { status: ['The status field is required.'] },
      values: { ...LEAD, name: 'two', status: '', fax: '' },
    },
    { row: 3, errors: { row: ['The body is not well-formed JSON.'] }, values: {} },
    { row: 4, errors: { row: ['The body must be a JSON object.'] }, values: {} },
  ])
  const failed = await failedRows(done.id)
  expect(failed.headers['content-type']).toBe('application/x-ndjson')
  expect(failed.text).toBe(
    lines
      .split('\n')
      .slice(1, 4)
      .map((line) => `${line}\n`)
      .join(''),
  )
  await eventually(() => expect(receiver.requests).toHaveLength(2))

  const { id } = (await post(renderCsv(Array(500).fill('row')))).json.data
  const events = `/manage/imports/${id}/events`
  const { text, headers } = await tenant.client.request('GET', events)
  expect(headers['content-type']).toBe('text/event-stream')
  const all = text.split('\n\n').filter((event) => event.startsWith('event: '))
  expect(all.at(-1)).toMatch(/^event: end\nid: .*\ndata: {.*"state":"finished".*"rows_created":500/)
  const seen = { 'last-event-id': /id: (.*)/.exec(all.at(-1)!)![1]! }
  expect(await tenant.client.request('GET', events, { headers: seen })).toMatchObject({ status: 204 })

  const long = (await post('{"name":"invalid"}\n'.repeat(300_000), NDJSON)).json.data
  expect(await tenant.send('POST', `/manage/imports/${long.id}/cancel`)).toMatchObject({ state: 'cancelled' })
  expect(await retrieve(long.id)).toMatchObject({ state: 'cancelled', finished_at: expect.any(String) })
  expect(await tenant.send('POST', `/manage/imports/${id}/cancel`)).toMatchObject({ state: 'finished' })
  const imports = await tenant.send<object[]>('GET', '/manage/imports')
  expect(imports).toMatchObject([{ id: long.id }, { id }, { id: done.id }])
  const [newest] = await tenant.send<object[]>('GET', '/manage/audit')
  expect(newest).toMatchObject({ action: 'import.cancelled', target: { type: 'import', id: long.id } })
})

test('an export has all leads as they are retrieved, oldest first and without formulas, and can be imported again', async () => {
  const image = await tenant.send('POST', '/manage/images', { multipart: IMAGE })
  const item = {
    product_style_id: 12,
    product_style: { sku: 'CAS', name: 'Casement', product: { name: 'Window' } },
    name: 'Casement',
    price: 45900,
    image_id: image.id,
    options: { width: 1200 },
  }
  const changes = [
    { external_id: 'a', attributes: { quotes: '","quotes":[', n: 1.5 }, quotes: [{ items: [item] }] },
    { company_name: '=1+1', phone: '+44 20 7946 0123', last_name: '@SUM(A1)', name: 'He said "a, b"' },
    { status: 'sold', value: 4500, description: 'x\n=1' },
  ]
  const created: Lead[] = []
  for (const change of changes)
    created.push(await tenant.send('POST', '/manage/leads', { json: { ...LEAD, ...change } }))
  const readLines = async (query = '') =>
    (await readExport(query))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Lead)
  const exported = await readLines()
  const managed = await Promise.all(created.map(({ reference }) => retrieveManaged(reference)))
  // Exports of all leads do not show the assigned users.
  expect(exported.map((lead) => ({ ...lead, user: null }))).toEqual(managed)
  expect(await readLines('?status=sold')).toEqual(exported.slice(2))
  expect(await readLines('?attribute=n:1.5')).toEqual(exported.slice(0, 1))
  expect(await readLines(`?created_from=${created[1]!.created_at}&status=open`)).toEqual([exported[1]])

  const csv = await readExport('?format=csv')
  const cells = parse(csv, { columns: true }) as Record<string, string>[]
  expect(cells[1]).toMatchObject({
    name: 'He said "a, b"',
    'customer.company_name': "'=1+1",
    'customer.phone': "'+44 20 7946 0123",
    'customer.last_name': "'@SUM(A1)",
  })
  expect(cells[2]).toMatchObject({ status: 'sold', description: "x\n'=1" })
  expect(await readExport('?format=csv&bom=1')).toBe(`\uFEFF${csv}`)
  for (const query of ['?format=xml', '?bom=1', '?state=open', '?status=open&status=sold'])
    expect(await tenant.client.request('GET', `/manage/exports${query}`)).toMatchObject({ status: 422 })

  // An import of this export updates the lead with an external id, and creates the other leads once more.
  const withoutIds = (leads: Lead[]) =>
    JSON.stringify(leads)
      .replace(/"(id|lead_id|quote_id)":\d+/g, '"$1":0')
      .replace(/"(reference|created_at|updated_at)":"[^"]*"/g, '"$1":""')
  for (const [text, type] of [
    [csv, 'text/csv'],
    [await readExport(), 'application/x-ndjson'],
  ] as const) {
    const before = await readLines()
    expect(await createImports(tenant).run(text, { type })).toMatchObject({ rows_created: 3, rows_failed: 0 })
    const after = await readLines()
    expect(after.slice(0, before.length)).toEqual(before)
    expect(withoutIds(after.slice(before.length))).toBe(withoutIds(exported.slice(1)))
  }
})
