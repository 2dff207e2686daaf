import { createImports } from '../../support/imports'
import { PNG } from '../../support/samples'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

// This JSON is a text, because a JavaScript object would move the numeric keys to the front.
const OPTIONS = '{"width":1200,"10":"ten","2":"=1+1","depth":70.50,"glass":"\\u0043lear"}'

const LEADS = [
  {},
  { company_name: '=1+1', phone: '+44 20 7946 0123', last_name: "O'Neil", mobile: '-07700 900123' },
  { name: "'=1", company_name: "'@SUM(A1)", description: "'=1\n=1\r\n'+1\r-1\n\t@1\n'tis" },
  { name: 'He said "a, b"; c\td|e', company_name: '窓, Ł', description: '  two\n\n  lines "' },
  { value: 4500, referrer: 'Direct', status: 'sold', test: true, ip: '203.0.113.7', user_agent: 'curl/8' },
  { referrer_url: 'https://search.example/?q=windows', description: ',,,', postcode: 'm1 1ae' },
]

let stage: SharedStage
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())

const withQuotes = async (tenant: Tenant) => {
  const multipart = [{ name: 'file', value: PNG, fileName: 'front.png', type: 'image/png' }]
  const { id } = await tenant.send('POST', '/manage/images', { multipart })
  const item = `{"product_style_id":12,"name":"Casement","price":45900,"cost":100,"margin":0.25,"hidden":true,"image_id":${id},
    "product_style":{"sku":"CAS-2","name":"Casement, two panes","product":{"name":"Window"}},"options":${OPTIONS}}`
  return `${JSON.stringify(LEAD).slice(0, -1)},"quotes":[{"items":[${item},${item}]},{"status":"draft"}]}`
}

/** Splits into lines, and removes ids, references and times, which differ between copies of a lead. */
const withoutIds = (ndjson: string) =>
  ndjson
    .replace(/"(id|lead_id|quote_id)":\d+/g, '"$1":0')
    .replace(/"(reference|created_at|updated_at)":"[^"]*"/g, '"$1":""')
    .split('\n')

test.each([
  ['ndjson', '', 'application/x-ndjson'],
  ['csv', '', 'text/csv'],
  ['csv', '&bom=1', 'text/csv'],
])('an export in %s%s is imported as the same leads', async (format, more, type) => {
  const tenant = await stage.newTenant()
  const bodies = [...LEADS.map((lead) => JSON.stringify({ ...LEAD, ...lead })), await withQuotes(tenant)]
  const headers = { 'content-type': 'application/json' }
  for (const body of bodies) {
    const { status } = await tenant.client.request('POST', '/manage/leads', { body, headers })
    expect(status).toBe(200)
  }
  const ndjson = async () => (await tenant.client.request('GET', '/manage/exports')).text
  const before = await ndjson()
  expect(before).toContain(OPTIONS)
  const { bytes } = await tenant.client.request('GET', `/manage/exports?format=${format}${more}`)
  const done = await createImports(tenant).run(bytes, { type })
  expect(done).toMatchObject({ state: 'finished', rows_created: bodies.length, rows_failed: 0 })
  const after = await ndjson()
  expect(after.startsWith(before)).toBe(true)
  expect(withoutIds(after.slice(before.length))).toEqual(withoutIds(before))
})
