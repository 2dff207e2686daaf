import { Readable } from 'node:stream'
import { csvRows } from './csv-rows'
import { collectIgnored } from './ignored-columns'
import { ndjsonRows } from './ndjson-rows'
import { UnreadableFile } from './rows'

const CHUNKS = 16
const repeatLine = (line: string) =>
  Array<Buffer>(CHUNKS).fill(Buffer.from(line.repeat(65_536 / line.length)))

const csv = (bytes: Readable, columns: string[], delimiter = ',') =>
  csvRows(bytes, 1, { header: { columns, delimiter }, ignored: collectIgnored([]) })
const ndjson = (bytes: Readable) => ndjsonRows(bytes, 1, collectIgnored([]))

test.each([
  ['commas', (bytes: Readable) => csv(bytes, ['name']), ',,,\n'],
  ['nothing in CSV', (bytes: Readable) => csv(bytes, ['name']), '\n'],
  ['nothing in NDJSON', ndjson, '\n'],
  ['spaces in NDJSON', ndjson, '     \t\r\n'],
])('rows of %s leave other work its turns', async (_what, readAll, line) => {
  let turns = 0
  let reading = true
  const turn = () => {
    turns += 1
    if (reading) setImmediate(turn)
  }
  setImmediate(turn)
  // Makes all chunks available at once. A socket that has delivered many chunks does the same.
  for await (const row of readAll(Readable.from(repeatLine(line)))) expect(row).toBeUndefined()
  reading = false
  expect(turns).toBeGreaterThanOrEqual(CHUNKS)
})

const readRows = async (text: string, columns: string[]) => {
  const rows = []
  for await (const row of csv(Readable.from([Buffer.from(text)]), columns, ';')) rows.push(row.read())
  return rows
}

const readValue = async (cell: string) => (await readRows(`${cell}\n`, ['Value']))[0]!
const readTest = async (cell: string) => (await readRows(`${cell}\n`, ['Test']))[0]!

test.each([
  ['4500', 4500],
  ['£4,500.00', 4500],
  [' £4,500.00 ', 4500],
  ['£ 4,500', 4500],
  ['4,500', 4500],
  ['"4,500"', 4500],
  ['1,234,567.0', 1_234_567],
  ['4.5E+03', 4500],
  ['1e3', 1000],
  ['+4500', 4500],
  ['4\u00a0500', 4500],
  ['4\u202f500', 4500],
  ['£\u00a04\u2009500.00', 4500],
  ['1 234 567', 1_234_567],
  ['4’500.00', 4500],
  ['GBP 4,500.00', 4500],
  ['4500 GBP', 4500],
  ['4500.0000', 4500],
  ['4500.', 4500],
  ['12.00', 12],
  ['£-', 0],
  [' £ -   ', 0],
  ['0.00', 0],
  ['-£4,500.00', -4500],
  ['(£4,500.00)', -4500],
  ['\u22124500', -4500],
  ['４５００', 4500],
])('a spreadsheet shows a whole number as %j', async (cell, value) => {
  expect(await readValue(cell)).toMatchObject({ fields: { value }, errors: {} })
})

test.each([
  '4500.50',
  '4500.5',
  '12,34',
  '12,3456',
  '1,23,456',
  '0,500',
  '4.000',
  '4.500',
  '4.500,00',
  '4500,00',
  '1,234 567',
  '4.5E+00',
  '4.5E-03',
  '$4,500',
  '€4500',
  '4£500',
  '--5',
  '.00',
  '4.5k',
  'about 4500',
  '0x10',
  'Infinity',
])('a value of %j is refused with its cell', async (cell) => {
  expect(await readValue(cell)).toEqual({
    fields: {},
    form: true,
    errors: { value: [`The value must be an integer, such as 4500. The cell has "${cell}".`] },
  })
})

test('a refusal quotes no more of a cell than its first characters, in one line', async () => {
  const { errors } = await readValue(`"${'12,3\n4'.repeat(20_000)}"`)
  expect(errors).toEqual({
    value: [expect.stringMatching(/The cell has "12,3 412,3 4.{28}"\.$/)],
  })
})

test.each([
  [true, ['1', '1.0', '1.00', 'true', 'TRUE', 'Yes', 'YES', 'y', 'T', 'on', ' Yes\u00a0']],
  [false, ['0', '0.0', '0.00', 'false', 'False', 'No', 'NO', 'n', 'F', 'off']],
])('a spreadsheet shows the boolean %j in many ways', async (test, cells) => {
  for (const cell of cells) expect(await readTest(cell)).toMatchObject({ fields: { test }, errors: {} })
})

test.each(['WAHR', '2', '1.5', '-1', 'maybe', 'yes/no', 'x'])('a test of %j is refused', async (cell) => {
  const errors = { test: [`The test field must be true or false. The cell has "${cell}".`] }
  expect(await readTest(cell)).toEqual({ fields: {}, form: true, errors })
})

/**
 * Returns the ignored columns of a CSV file, or the ignored keys of JSON lines. Maps each name to the field
 * that the name may mean.
 */
const findIgnored = async (text: string): Promise<Record<string, string | undefined>> => {
  const ignored = collectIgnored([])
  const bytes = Readable.from([Buffer.from(text)])
  const header = { columns: [], delimiter: ',' }
  const rows = text.startsWith('{') ? ndjsonRows(bytes, 0, ignored) : csvRows(bytes, 0, { header, ignored })
  try {
    for await (const row of rows) row.read()
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
  }
  return Object.fromEntries(ignored.list().map(({ name, didYouMean }) => [name, didYouMean]))
}

const MEANT: [name: string, field: string | undefined][] = [
  ['Mobile Number', 'mobile'],
  ['Company', 'company_name'],
  ['Notes', 'description'],
  ['Telephone', 'phone'],
  ['Company telephone', 'phone'],
  ['Email Address', 'email'],
  ['Emial', 'email'],
  ['Fisrt name', 'first_name'],
  ['Surname', 'last_name'],
  ['Forename', 'first_name'],
  ['Post code (UK)', 'postcode'],
  ['ZIP', 'postcode'],
  ['Lead Source', 'referrer'],
  ['Stage', 'status'],
  ['Assigned to', 'user_id'],
  ['Amount', 'value'],
  ['CRM ID', 'external_id'],
  ['Date created', 'created_at'],
  ['UTM Source', 'attributes.utm_source'],
  ['gclid', 'attributes.gclid'],
  ['Fax', undefined],
  ['City', undefined],
  ['Favourite colour', undefined],
  // An export contains these columns, so an import suggests no field for them.
  ['id', undefined],
  ['reference', undefined],
  ['customer.phone_link', undefined],
]

test.each(MEANT)('the unknown column %s may mean %s', async (name, field) => {
  expect(await findIgnored(`external_id,"${name}"\n`)).toEqual({ [name]: field })
  expect(await findIgnored(`${JSON.stringify({ external_id: 'a', [name]: 1 })}\n`)).toEqual({ [name]: field })
})

test('a column that is known in CSV by another spelling is an unknown key of JSON', async () => {
  expect(await findIgnored('External ID,First-Name\n')).toEqual({})
  expect(
    await findIgnored('{"external_id":"a","First-Name":"Ada","customer":{"phone":"1","fax":"2"}}\n'),
  ).toEqual({ 'First-Name': 'first_name', 'customer.fax': undefined })
})

test('columns of a header that is refused are listed too', async () => {
  expect(await findIgnored('Forename,Surname,Telephone\n')).toEqual({
    Forename: 'first_name',
    Surname: 'last_name',
    Telephone: 'phone',
  })
})

test('a column without a name is listed when a row has something in it', async () => {
  expect(await findIgnored('external_id,,name, ,,\na,,b,,\na, ,b,c\n')).toEqual({ 'column 4': undefined })
})

test('the list of ignored columns is bounded, and can be stored', async () => {
  const keys = Array.from({ length: 1000 }, (_, index) => [`key ${index}`, ''])
  expect(
    Object.keys(await findIgnored(`${JSON.stringify({ name: '', ...Object.fromEntries(keys) })}\n`)),
  ).toHaveLength(100)
  const long = `${'a'.repeat(254)}😀`
  const strange = { name: '', 'a\0b': 1, 'c\ud800': 1, ' ': 1, '': 1, [long]: 1, 'x\ny': 1 }
  expect(Object.keys(await findIgnored(`${JSON.stringify(strange)}\n`)).sort()).toEqual(
    ['a'.repeat(254), 'ab', 'c', 'x y'].sort(),
  )
})
