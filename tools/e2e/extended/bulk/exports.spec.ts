import { eventually } from '@leadwire/test-kit'
import { parse } from 'csv-parse/sync'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant

beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const exported = (query = '') => tenant.client.request('GET', `/manage/exports${query}`)

const parseLines = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Lead)

test('the export of an account without leads is empty, or only a header in CSV', async () => {
  const { status, headers, text } = await exported()
  expect({ status, text }).toEqual({ status: 200, text: '' })
  expect(headers['content-type']).toBe('application/x-ndjson')
  expect((await exported('?format=csv')).text).toMatch(
    /^id,reference,name,.*,customer\.created_at,quotes\r\n$/,
  )
})

test('an export has all leads, oldest first, as they are retrieved, across batches', async () => {
  await (await stage.newTenant()).createLead()
  // Creates the leads in groups, because the gateway refuses a request that has waited for three seconds.
  const created: Lead[] = []
  for (let group = 0; group < 10; group += 1)
    created.push(...(await Promise.all(Array.from({ length: 43 }, () => tenant.createLead()))))
  const { text, headers } = await exported('?format=ndjson')
  const leads = parseLines(text)
  expect(headers['content-disposition']).toBe('attachment; filename="leads.ndjson"')
  expect(leads.map(({ id }) => id)).toEqual(created.map(({ id }) => id).sort((a, b) => a - b))
  // An export has the id of the assigned user, but not the user.
  const { user, ...retrieved } = await tenant.send<Record<string, unknown>>(
    'GET',
    `/manage/leads/${leads[217]!.reference}`,
  )
  expect(user).toBeNull()
  expect(leads[217]).toEqual(retrieved)
  const [from, to] = [leads[100]!.created_at, leads[400]!.created_at]
  const some = await exported(`?created_from=${from}&created_to=${to}`)
  expect(parseLines(some.text)).toEqual(leads.slice(100, 400))
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
])('the description %j becomes the cell %j, and no line of it looks like a formula', async (description, cell) => {
  const { created_at: from, name } = await tenant.send('POST', '/manage/leads', {
    json: { ...LEAD, description },
  })
  const { text } = await exported(`?format=csv&created_from=${from}`)
  const [lead, ...others] = parse(text, { columns: true }) as Record<string, string>[]
  expect(lead).toMatchObject({ name, description: cell })
  expect(others).toEqual([])
  // Some programs treat each line as a row, even inside quotes, so no line may start like a formula.
  for (const line of text.split(/[\r\n]+/)) expect(line).not.toMatch(/^[=+\-@\t＝＋－＠]/)
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

  const exportNames = async (query: string) => {
    const { status, text } = await owner.client.request('GET', `/manage/exports?${query}`)
    expect(status).toBe(200)
    return parseLines(text).map((lead) => lead['name'])
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
    await eventually(async () => expect(await exportNames(query)).toEqual(names))
  })

  test('assigned_to, times, and a filter in CSV', async () => {
    expect(await exportNames(`assigned_to=${userId}`)).toEqual(['assigned'])
    expect(await exportNames(`status=sold&created_from=${since}`)).toEqual([])
    await eventually(async () => expect(await exportNames(`updated_since=${since}`)).toEqual(['assigned']))
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
  ])('%s is refused with an error for %s', async (query, field) => {
    const { status, json } = await owner.client.request('GET', `/manage/exports?${query}`)
    expect({ status, fields: Object.keys((json as { errors: object }).errors) }).toEqual({
      status: 422,
      fields: [field],
    })
  })
})

test('an invalid request gets an error instead of a file', async () => {
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
