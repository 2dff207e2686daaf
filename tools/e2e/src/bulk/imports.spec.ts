import { Readable } from 'node:stream'
import { eventually } from '@leadwire/test-kit'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'
import { COLUMNS, csvOf, importsOf, ndjsonOf } from './import.fixture'

const MAX_BYTES = 10_000_000

let stage: Stage
let tenant: Tenant
let imports: ReturnType<typeof importsOf>

beforeAll(async () => {
  stage = await startStage({ env: { IMPORT_MAX_BYTES: String(MAX_BYTES) } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  imports = importsOf(tenant)
})

const namesOf = (leads: { name: string }[]) => leads.map(({ name }) => name)
const names = (count: number) => Array.from({ length: count }, (_, index) => `Lead ${index + 1}`)
const NDJSON = { type: 'application/x-ndjson' }

test('50,000 rows are created in their order, the refused ones are told of, and no webhook is sent', async () => {
  const { receiver } = await tenant.listen()
  const rows = names(50_000)
  const file = csvOf(rows).split('\n')
  for (const row of [1, 777, 50_000]) file[row] = file[row]!.replace('ada@example.com', 'nobody')
  const done = await imports.run(file.join('\n'))
  const counts = { rows_read: 50_000, rows_created: 49_997, rows_failed: 3 }
  expect(done).toMatchObject({ state: 'finished', ...counts, bytes_read: done.file_size, webhooks: false })
  const errors = { email: ['The email must be a valid email address.'] }
  expect(await imports.faults(done.id)).toEqual({
    data: [1, 777, 50_000].map((row) => ({ row, errors })),
    next_cursor: null,
  })
  const leads = await imports.leads()
  expect(namesOf(leads)).toEqual(rows.filter((_, index) => ![0, 776, 49_999].includes(index)))
  expect(await tenant.client.request('GET', '/manage/deliveries')).toMatchObject({ json: { total: 0 } })
  expect(receiver.requests).toEqual([])
}, 180_000)

test('with webhooks each lead is told of', async () => {
  const { receiver } = await tenant.listen()
  const done = await imports.run(ndjsonOf(names(150).map((name) => ({ name }))), {
    ...NDJSON,
    query: '?webhooks=true',
  })
  expect(done).toMatchObject({ state: 'finished', rows_created: 150, webhooks: true })
  await eventually(() => expect(receiver.requests).toHaveLength(150))
})

test('CSV as spreadsheets write it', async () => {
  const rest = 'Ada,Lovelace,ada@example.com,020 7946 0123,SW1A 1AA,Website,open'
  const quotes = JSON.stringify([{ status: 'draft', items: [] }]).replaceAll('"', '""')
  const file = [
    `\uFEFF${COLUMNS.join(',')},value,unknown,quotes`,
    `"Bay ""window"", large",${rest},4500,x,`,
    '',
    `"two\r\nlines — 窓",${rest},,,"${quotes}"`,
    `'=1+1,${rest},,,`,
    `5" pane,${rest},12,,`,
    `too many,${rest},12,,,x`,
    `no json,${rest},,,[`,
    `no user,${rest.replace('Website', 'Pigeon')},,,`,
  ]
  const done = await imports.run(`${file.join('\r\n')}\r\n`)
  expect(done).toMatchObject({ state: 'finished', rows_read: 7, rows_created: 4, rows_failed: 3 })
  const leads = await imports.leads()
  expect(namesOf(leads)).toEqual(['Bay "window", large', 'two lines — 窓', '=1+1', '5" pane'])
  expect(leads.map(({ value }) => value)).toEqual([4500, 0, 0, 12])
  expect(leads[1]!['quotes']).toMatchObject([{ status: 'draft', items: [] }])
  const { data } = await imports.faults(done.id)
  expect(data).toEqual([
    { row: 5, errors: { row: ['The row has 12 cells, and the header 11.'] } },
    { row: 6, errors: { row: ['The quotes must be JSON.'] } },
    { row: 7, errors: { referrer: [expect.stringContaining('The selected referrer is invalid.')] } },
  ])
})

test('lines of JSON are checked as bodies are, and refer to what the account has', async () => {
  const lines = ndjsonOf([
    { name: 'one' },
    { name: 'two', user_id: 999_999_999 },
    { name: 'three', status: '' },
  ])
  const done = await imports.run(`${lines}\n{"name":\n[]\r\n${ndjsonOf([{ name: 'last' }]).trim()}`, NDJSON)
  expect(done).toMatchObject({ state: 'finished', rows_read: 6, rows_created: 2, rows_failed: 4 })
  expect(namesOf(await imports.leads())).toEqual(['one', 'last'])
  const { data } = await imports.faults(done.id)
  expect(data).toEqual([
    { row: 2, errors: { user_id: ['The selected user id is invalid.'] } },
    { row: 3, errors: { status: ['The status field is required.'] } },
    { row: 4, errors: { row: ['The body is not well-formed JSON.'] } },
    { row: 5, errors: { row: ['The body must be a JSON object.'] } },
  ])
})

test('faults are listed by cursor', async () => {
  const bad = names(250).map((name) => ({ name, email: 'nobody' }))
  const { id } = await imports.run(ndjsonOf(bad), NDJSON)
  const rows: number[] = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = await imports.faults(id, cursor)
    rows.push(...data.map(({ row }) => row))
    if (next_cursor === null) break
    cursor = `?cursor=${next_cursor}`
  }
  expect(rows).toEqual(bad.map((_, index) => index + 1))
})

test('the same Idempotency-Key is the same import', async () => {
  const headers = { 'idempotency-key': 'once' }
  const [file, other] = [csvOf(['one']), csvOf(['other'])]
  const first = await imports.post(file, { headers })
  const again = await imports.post(file, { headers })
  expect(again).toMatchObject({ status: 202, text: first.text, headers: { 'idempotency-replayed': 'true' } })
  expect(await imports.post(other, { headers })).toMatchObject({ status: 422 })
  expect(await imports.post(file, { headers, query: '?webhooks=1' })).toMatchObject({ status: 422 })
  const { data } = (await tenant.client.request<{ data: object[] }>('GET', '/manage/imports')).json
  expect(data).toHaveLength(1)
})

test.each([
  ['an empty file', '', { type: 'text/csv' }, 422],
  ['JSON', '{}', { type: 'application/json' }, 415],
  ['another charset', 'a', { type: 'text/csv; charset=latin1' }, 415],
  ['a query that is no good', 'a', { query: '?webhooks=perhaps' }, 422],
])('%s is refused', async (_what, body, options, status) => {
  expect(await imports.post(body, options)).toMatchObject({ status })
  expect(await tenant.client.request('GET', '/manage/imports')).toMatchObject({ json: { data: [] } })
})

test('a file that is too large is refused, whatever the client says of its length', async () => {
  const headers = { 'content-type': 'text/csv' }
  const large = Buffer.alloc(MAX_BYTES + 1, 'a')
  expect(await imports.post(large)).toMatchObject({ status: 413 })
  const chunked = { body: Readable.from([large.subarray(9), large.subarray(0, 9)]), headers }
  expect(await tenant.client.request('POST', '/manage/imports', chunked)).toMatchObject({ status: 413 })
})

test('a header alone is an import of no rows, and a header that is none a failed one', async () => {
  expect(await imports.run(`${COLUMNS.join()}\n`)).toMatchObject({ state: 'finished', rows_read: 0 })
  expect(await imports.run('name,email,name\na,b,c\n')).toMatchObject({
    state: 'failed',
    failure: 'The header has the column name twice.',
  })
  const endless = `${csvOf(['fine'])}\n"never closed${',x\n'.repeat(600_000)}`
  const failed = await imports.run(endless)
  expect(failed).toMatchObject({
    state: 'failed',
    failure: expect.stringContaining('The next rows are no CSV'),
  })
})

test('an import that is cancelled creates no more, and its file goes', async () => {
  const sent = (await imports.post(csvOf(names(60_000)))).json.data
  await eventually(async () => expect((await imports.retrieve(sent.id)).rows_created).toBeGreaterThan(0))
  const cancelled = await tenant.send<{ state: string; rows_created: number }>(
    'POST',
    `/manage/imports/${sent.id}/cancel`,
  )
  expect(cancelled.state).toBe('cancelled')
  const after = await imports.run(csvOf(['after']))
  expect(after.state).toBe('finished')
  const found = await imports.retrieve(sent.id)
  expect(found).toMatchObject({ state: 'cancelled', rows_created: cancelled.rows_created })
  expect(cancelled.rows_created).toBeLessThan(60_000)
  expect(await imports.leads()).toHaveLength(cancelled.rows_created + 1)
  expect(await tenant.send('POST', `/manage/imports/${after.id}/cancel`)).toMatchObject({ state: 'finished' })
}, 60_000)

test('an import is watched until it has ended', async () => {
  const { id } = (await imports.post(csvOf(names(3000)))).json.data
  const events = `/manage/imports/${id}/events`
  const { text, headers } = await tenant.client.request('GET', events)
  expect(headers['content-type']).toBe('text/event-stream')
  const all = text.split('\n\n').filter((event) => event.startsWith('event: '))
  expect(all.at(-1)).toMatch(/^event: end\nid: .*\ndata: {.*"state":"finished".*"rows_created":3000/)
  expect(all.slice(0, -1).every((event) => event.startsWith('event: progress\n'))).toBe(true)
  const last = /id: (.*)/.exec(all.at(-1)!)![1]!
  expect(await tenant.client.request('GET', events, { headers: { 'last-event-id': last } })).toMatchObject({
    status: 204,
  })
})

test("another account's imports are not there", async () => {
  const { id } = (await imports.post(csvOf(['mine']))).json.data
  const { client } = await stage.newTenant()
  for (const path of ['', '/faults', '/events'])
    expect(await client.request('GET', `/manage/imports/${id}${path}`)).toMatchObject({ status: 404 })
  expect(await client.request('POST', `/manage/imports/${id}/cancel`)).toMatchObject({ status: 404 })
  expect(await client.request('GET', '/manage/imports')).toMatchObject({ json: { data: [] } })
})

test('who sent and cancelled an import stands in the audit log, and who created a lead in its history', async () => {
  const done = await imports.run(csvOf(['one']))
  const audit = await tenant.client.request('GET', '/manage/audit')
  expect(audit.json).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({ action: 'import.created', target: { type: 'import', id: done.id } }),
    ]),
  })
  const [lead] = await imports.leads()
  const history = await tenant.send<{ token: { id: number } }[]>(
    'GET',
    `/manage/leads/${lead!.reference}/history`,
  )
  expect(history).toMatchObject([{ action: 'created', token: { id: expect.any(Number) } }])
  expect(lead).toMatchObject({ ...{ name: 'one', status: LEAD.status }, ip: '127.0.0.1' })
})
