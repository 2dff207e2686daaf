import { parse } from 'csv-parse/sync'
import { LEAD, type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'

let stage: Stage
let tenant: Tenant

beforeAll(async () => {
  stage = await startStage()
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
  expect(leads[217]).toEqual(await tenant.send('GET', `/leads/${leads[217]!.reference}`))
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
