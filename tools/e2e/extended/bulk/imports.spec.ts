import { Readable } from 'node:stream'
import { eventually } from '@leadwire/test-kit'
import { COLUMNS, createImports, renderCsv, renderNdjson } from '../../support/imports'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

const MAX_BYTES = 10_000_000

let stage: Stage
let tenant: Tenant
let imports: ReturnType<typeof createImports>

beforeAll(async () => {
  stage = await startStage({ env: { IMPORT_MAX_BYTES: String(MAX_BYTES) } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  imports = createImports(tenant)
})

const listNames = (leads: { name: string }[]) => leads.map(({ name }) => name)
const names = (count: number) => Array.from({ length: count }, (_, index) => `Lead ${index + 1}`)
const NDJSON = { type: 'application/x-ndjson' }

test('50,000 rows are created in order, failed rows are listed, and no webhook is sent', async () => {
  const { receiver } = await tenant.listen()
  const rows = names(50_000)
  const file = renderCsv(rows).split('\n')
  for (const row of [1, 777, 50_000]) file[row] = file[row]!.replace('ada@example.com', 'nobody')
  const done = await imports.run(file.join('\n'))
  const counts = { rows_read: 50_000, rows_created: 49_997, rows_failed: 3 }
  expect(done).toMatchObject({ state: 'finished', ...counts, bytes_read: done.file_size, webhooks: false })
  const errors = { email: ['The email must be a valid email address.'] }
  expect(await imports.errors(done.id)).toMatchObject({
    data: [1, 777, 50_000].map((row) => ({ row, errors })),
    next_cursor: null,
  })
  const leads = await imports.leads()
  expect(listNames(leads)).toEqual(rows.filter((_, index) => ![0, 776, 49_999].includes(index)))
  expect(await tenant.client.request('GET', '/manage/deliveries')).toMatchObject({ json: { total: 0 } })
  expect(receiver.requests).toEqual([])
}, 180_000)

test('CSV in the format of spreadsheets', async () => {
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
  expect(listNames(leads)).toEqual(['Bay "window", large', 'two lines — 窓', '=1+1', '5" pane'])
  expect(leads.map(({ value }) => value)).toEqual([4500, 0, 0, 12])
  expect(leads[1]!['quotes']).toMatchObject([{ status: 'draft', items: [] }])
  const { data } = await imports.errors(done.id)
  expect(data).toMatchObject([
    { row: 5, errors: { row: ['The row has 12 cells, but the header has 11.'] } },
    { row: 6, errors: { row: ['The quotes must be JSON.'] } },
    { row: 7, errors: { referrer: [expect.stringContaining('The selected referrer is invalid.')] } },
  ])
})

test('errors are listed page by page with a cursor', async () => {
  const bad = names(250).map((name) => ({ name, email: 'nobody' }))
  const { id } = await imports.run(renderNdjson(bad), NDJSON)
  const rows: number[] = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = await imports.errors(id, cursor)
    rows.push(...data.map(({ row }) => row))
    if (next_cursor === null) break
    cursor = `?cursor=${next_cursor}`
  }
  expect(rows).toEqual(bad.map((_, index) => index + 1))
})

test.each([
  ['an empty file', '', { type: 'text/csv' }, 422],
  ['JSON', '{}', { type: 'application/json' }, 415],
  ['an unknown charset', 'a', { type: 'text/csv; charset=latin-one' }, 415],
  ['an invalid query', 'a', { query: '?webhooks=perhaps' }, 422],
])('%s is refused', async (_what, body, options, status) => {
  expect(await imports.post(body, options)).toMatchObject({ status })
  expect(await tenant.client.request('GET', '/manage/imports')).toMatchObject({ json: { data: [] } })
})

test('a file that is too large is refused, with and without a Content-Length', async () => {
  const headers = { 'content-type': 'text/csv' }
  const large = Buffer.alloc(MAX_BYTES + 1, 'a')
  expect(await imports.post(large)).toMatchObject({ status: 413 })
  const chunked = { body: Readable.from([large.subarray(9), large.subarray(0, 9)]), headers }
  expect(await tenant.client.request('POST', '/manage/imports', chunked)).toMatchObject({ status: 413 })
})

test('a header alone is an import of no rows, and a broken header or file fails', async () => {
  expect(await imports.run(`${COLUMNS.join()}\n`)).toMatchObject({ state: 'finished', rows_read: 0 })
  expect(await imports.run('name,email,name\na,b,c\n')).toMatchObject({
    state: 'failed',
    failure: 'The header has the column name twice.',
  })
  const endless = `${renderCsv(['fine'])}\n"never closed${',x\n'.repeat(600_000)}`
  const failed = await imports.run(endless)
  expect(failed).toMatchObject({
    state: 'failed',
    failure: expect.stringContaining('The rows after the last processed row (`rows_read`) are not valid CSV'),
  })
})

test('a cancelled import creates no further leads, and the next import runs', async () => {
  const sent = (await imports.post(renderCsv(names(60_000)))).json.data
  await eventually(async () => expect((await imports.retrieve(sent.id)).rows_created).toBeGreaterThan(0))
  const cancelled = await tenant.send<{ state: string; rows_created: number }>(
    'POST',
    `/manage/imports/${sent.id}/cancel`,
  )
  expect(cancelled.state).toBe('cancelled')
  const after = await imports.run(renderCsv(['after']))
  expect(after.state).toBe('finished')
  const found = await imports.retrieve(sent.id)
  expect(found).toMatchObject({ state: 'cancelled', rows_created: cancelled.rows_created })
  expect(cancelled.rows_created).toBeLessThan(60_000)
  expect(await imports.leads()).toHaveLength(cancelled.rows_created + 1)
  expect(await tenant.send('POST', `/manage/imports/${after.id}/cancel`)).toMatchObject({ state: 'finished' })
})

test('the audit log has the import, and the history of a lead has the token that created it', async () => {
  const done = await imports.run(renderCsv(['one']))
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
  expect(lead).toMatchObject({ name: 'one', status: LEAD.status, ip: '127.0.0.1' })
})
