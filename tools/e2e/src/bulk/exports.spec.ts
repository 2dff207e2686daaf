import { eventually } from '@leadwire/test-kit'
import { parse } from 'csv-parse/sync'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant

beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const exported = (query = '') => tenant.client.request('GET', `/manage/exports${query}`)

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Lead)

test('an account without leads has an empty file, and a header in CSV', async () => {
  const { status, headers, text } = await exported()
  expect({ status, text }).toEqual({ status: 200, text: '' })
  expect(headers['content-type']).toBe('application/x-ndjson')
  expect((await exported('?format=csv')).text).toMatch(
    /^id,reference,name,.*,customer\.created_at,quotes\r\n$/,
  )
})

test('all leads, oldest first, as they are retrieved, across portions', async () => {
  await (await stage.newTenant()).createLead()
  const created = await Promise.all(Array.from({ length: 430 }, () => tenant.createLead()))
  const { text, headers } = await exported('?format=ndjson')
  const leads = linesOf(text)
  expect(headers['content-disposition']).toBe('attachment; filename="leads.ndjson"')
  expect(leads.map(({ id }) => id)).toEqual(created.map(({ id }) => id).sort((a, b) => a - b))
  expect(leads[217]).toEqual(await tenant.send('GET', `/manage/leads/${leads[217]!.reference}`))
  const [from, to] = [leads[100]!.created_at, leads[400]!.created_at]
  const some = await exported(`?created_from=${from}&created_to=${to}`)
  expect(linesOf(some.text)).toEqual(leads.slice(100, 400))
})

test('cells of CSV are quoted where they need it, and are no formulas', async () => {
  const from = (await tenant.createLead()).created_at
  const name = 'He said "a, b" and left — 窓'
  await tenant.createLead({ name, company_name: '=1+1', phone: '+44 20 7946 0123', last_name: '@SUM(A1)' })
  const { bytes, headers } = await exported(`?format=csv&created_from=${from}`)
  expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
  const [, lead] = parse(bytes, { columns: true }) as Record<string, string>[]
  expect(lead).toMatchObject({
    name,
    'customer.company_name': "'=1+1",
    'customer.phone': "'+44 20 7946 0123",
    'customer.last_name': "'@SUM(A1)",
    'customer.email': LEAD.email,
    'customer.address_1': '',
    quotes: '[]',
  })
})

test.each([
  ['x\n=1', "x\n'=1"],
  ['x\r=1', "x\r'=1"],
  ['x\r\n=1\r\ny\r\n-2', "x\r\n'=1\r\ny\r\n'-2"],
  ['x\n\t=1', "x\n'\t=1"],
  ['x\n＝1', "x\n'＝1"],
  ['=1', "'=1"],
  ["'=1", "''=1"],
  ["''=1", "'''=1"],
  ["'tis = 1\n'87", "'tis = 1\n'87"],
  ['"=1"\n"', '"=1"\n"'],
])('a description %j is the cell %j, and no reader sees a row of its own in it', async (description, cell) => {
  const { created_at: from, name } = await tenant.send('POST', '/manage/leads', {
    json: { ...LEAD, description },
  })
  const { text } = await exported(`?format=csv&created_from=${from}`)
  const [lead, ...others] = parse(text, { columns: true }) as Record<string, string>[]
  expect(lead).toMatchObject({ name, description: cell })
  expect(others).toEqual([])
  // As a reader sees it that takes each line for a row.
  for (const line of text.split(/[\r\n]+/)) expect(line).not.toMatch(/^[=+\-@\t＝＋－＠]/)
})

test('with bom=1 a CSV file begins with a byte order mark, and only such a file', async () => {
  const [plain, marked] = [await exported('?format=csv'), await exported('?format=csv&bom=1')]
  expect(marked.text).toBe(`\uFEFF${plain.text}`)
  expect(plain.text).toMatch(/^id,/)
  expect(await exported('?bom=1')).toMatchObject({
    status: 422,
    json: { errors: { bom: [expect.any(String)] } },
  })
  expect(await exported('?bom=0')).toMatchObject({ status: 200 })
})

describe('with the filters of the list', () => {
  let owner: Tenant
  let since: string
  let userId: number

  beforeAll(async () => {
    owner = await stage.newTenant()
    userId = (
      await owner.send<{ id: number }>('POST', '/manage/users', {
        json: { email: 'sam@example.com', name: 'Sam' },
      })
    ).id
    await owner.createLead({ name: 'sold', status: 'sold', last_name: 'Hopper' })
    await owner.createLead({ name: 'phone', referrer: 'Phone', postcode: 'M1 1AE' })
    await owner.createLead({ name: 'test', status: 'test' })
    const last = await owner.createLead({ name: 'assigned', user_id: userId })
    since = last.updated_at
  })

  const namesOf = async (query: string) => {
    const { status, text } = await owner.client.request('GET', `/manage/exports?${query}`)
    expect(status).toBe(200)
    return linesOf(text).map((lead) => lead['name'])
  }

  test.each([
    ['status=sold', ['sold']],
    ['status=lost', []],
    ['referrer=Phone', ['phone']],
    ['postcode=m1', ['phone']],
    ['test=1', ['test']],
    ['test=0&referrer=Website', ['sold', 'assigned']],
    ['q=hopp', ['sold']],
    ['status=sold&q=hopp&test=0', ['sold']],
  ])('%s', async (query, names) => {
    await eventually(async () => expect(await namesOf(query)).toEqual(names))
  })

  test('the user, times, and the same in CSV', async () => {
    expect(await namesOf(`assigned_to=${userId}`)).toEqual(['assigned'])
    expect(await namesOf(`status=sold&created_from=${since}`)).toEqual([])
    await eventually(async () => expect(await namesOf(`updated_since=${since}`)).toEqual(['assigned']))
    const { text } = await owner.client.request('GET', '/manage/exports?format=csv&status=sold')
    expect(parse(text, { columns: true })).toMatchObject([{ name: 'sold' }])
  })

  test.each([
    ['status=open&status=sold', 'status'],
    ['format=csv&format=ndjson', 'format'],
    ['created_from=2026-01-01T00:00:00Z&created_from=2026-01-01T00:00:00Z', 'created_from'],
    ['state=open', 'state'],
    ['Status=open', 'Status'],
    ['status[]=open', 'status[]'],
    ['status[0]=open', 'status[0]'],
    ['filter[status]=open', 'filter[status]'],
    ['since=2026-01-01T00:00:00Z', 'since'],
    ['page=2', 'page'],
    ['cursor=', 'cursor'],
    ['_=1', '_'],
    ['status=opened', 'status'],
    ['assigned_to=sam', 'assigned_to'],
    ['q=.', 'q'],
  ])('%s is refused, and names %s', async (query, field) => {
    const { status, json } = await owner.client.request('GET', `/manage/exports?${query}`)
    expect({ status, fields: Object.keys((json as { errors: object }).errors) }).toEqual({
      status: 422,
      fields: [field],
    })
  })
})

test('what is asked wrongly is refused before a byte of the file', async () => {
  const refused = await exported('?format=xml&created_from=yesterday&created_to=%00')
  expect(refused.status).toBe(422)
  expect(Object.keys((refused.json as { errors: object }).errors)).toEqual(
    expect.arrayContaining(['format', 'created_from', 'created_to']),
  )
  const { token } = await tenant.newToken({ scopes: ['leads'] })
  expect(await tenant.client.request('GET', '/manage/exports', { token })).toMatchObject({ status: 403 })
  const head = await tenant.client.request('HEAD', '/manage/exports?format=csv')
  expect(head).toMatchObject({ status: 200, text: '' })
})
