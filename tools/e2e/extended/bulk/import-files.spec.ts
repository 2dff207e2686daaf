import { Readable } from 'node:stream'
import { COLUMNS, createImports, type Import, renderCsv } from '../../support/imports'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
let imports: ReturnType<typeof createImports>

beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  imports = createImports(tenant)
})

type File = string | Buffer

/**
 * Imports all files at once, each into a separate account. Returns a function that finds the outcome of a
 * file.
 */
const importAll = (files: [file: File, type?: string][]) => {
  const outcomes = new Map<File, { done: Import; leads: object[]; errors: object[] }>()
  beforeAll(async () => {
    const run = async ([file, type]: [File, string?]) => {
      const each = createImports(await stage.newTenant())
      const done = await each.run(file, type === undefined ? {} : { type })
      outcomes.set(file, { done, leads: await each.leads(), errors: (await each.errors(done.id)).data })
    }
    await Promise.all(files.map(run))
  })
  return (file: File) => outcomes.get(file)!
}

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const LINE_BREAK = '\r\n'
const CELLS = Object.values(LEAD)

/** Renders a header with these names for the columns of LEAD, and one row. */
const renderFile = (columns: string[], delimiter = ',', cells = CELLS) =>
  [columns, cells].map((row) => row.join(delimiter) + LINE_BREAK).join('')

const titled = (name: string) =>
  name.replace(/(^|_)([a-z])/g, (_, before, letter) => `${before && ' '}${letter.toUpperCase()}`)

describe('a header is recognised by the letters of its names, with any delimiter', () => {
  const files: [what: string, file: string][] = [
    ['the exact names', renderFile(COLUMNS)],
    ['First Name', renderFile(COLUMNS.map(titled))],
    ['FIRST_NAME', renderFile(COLUMNS.map((name) => name.toUpperCase()))],
    ['firstName', renderFile(COLUMNS.map((name) => titled(name).replaceAll(' ', '')))],
    [
      'first-name, E-mail, Postcode *',
      renderFile(['Name:', 'first-name', 'last name', 'E-mail', 'Phone', 'Postcode *', 'Referrer', 'Status']),
    ],
    [
      'the names of an export',
      renderFile(COLUMNS.map((name) => (/^(first|last|email|phone)/.test(name) ? `customer.${name}` : name))),
    ],
    ['in quotes', renderFile(COLUMNS.map((name) => `"${name}"`))],
    ['semicolons', renderFile(COLUMNS, ';')],
    ['semicolons, and a quoted name with a comma', renderFile(COLUMNS.with(2, '"last, name"'), ';')],
    ['tabs', renderFile(COLUMNS, '\t')],
    ['bars', renderFile(COLUMNS, '|')],
    [
      'semicolons, and commas in the cells',
      renderFile(
        COLUMNS,
        ';',
        CELLS.map((cell) => (cell === 'Bay window' ? 'Bay, window, 1,5 m' : cell)),
      ),
    ],
    [
      'commas, and semicolons in an unknown name',
      renderFile([...COLUMNS, '"a;b;c;d;e;f;g;h;i;j;k"'], ',', [...CELLS, '']),
    ],
    ['sep=;', `sep=;${LINE_BREAK}${renderFile(COLUMNS, ';')}`],
    ['sep=, in quotes', `"sep=,"\n${renderFile(COLUMNS)}`],
    ['sep=#', `sep=#${LINE_BREAK}${renderFile(COLUMNS, '#')}`],
    ['after blank lines', `${LINE_BREAK},,,${LINE_BREAK}  ${LINE_BREAK}${renderFile(COLUMNS)}`],
    [
      'a name of a mebibyte of accents',
      renderFile([...COLUMNS, '\u0301\u0316'.repeat(250_000)], ',', [...CELLS, '']),
    ],
    ['lines that end with CR', renderFile(COLUMNS).replaceAll(LINE_BREAK, '\r')],
  ]
  const findOutcome = importAll(files.map(([, file]) => [file]))

  test.each(files)('%s', (_what, file) => {
    const { done, leads } = findOutcome(file)
    expect(done).toMatchObject({ state: 'finished', rows_created: 1, rows_failed: 0 })
    expect(leads).toMatchObject([{ postcode: LEAD.postcode, customer: { email: LEAD.email } }])
  })

  test('all rows are split with the same delimiter, although the import runs in several batches', async () => {
    const rows = Array.from({ length: 8000 }, (_, index) => `Lead, ${index}`)
    const done = await imports.run(`sep=;${LINE_BREAK}${renderCsv(rows).replaceAll(/,(?! )/g, ';')}`)
    expect(done).toMatchObject({ state: 'finished', rows_created: 8000, rows_failed: 0 })
  }, 120_000)
})

const KNOWN =
  'name, first_name, last_name, company_name, email, phone, mobile, postcode, referrer, status, user_id'

describe('a file without a usable header or row fails at once, with one sentence', () => {
  const page = '<!DOCTYPE html>\n<html><body>\n<p>Name, e-mail</p>\n</body></html>\n'
  const column = expect.stringContaining(`The first row has no known column. Known columns: ${KNOWN}`)
  const field = expect.stringContaining(`The first line has no known field. Known fields: ${KNOWN}`)
  const object = expect.stringContaining('The first line is not a JSON object.')
  const lacks = (fields: string) => expect.stringContaining(`The header lacks required columns: ${fields}`)

  const files: [what: string, file: File, type: string, failure: unknown][] = [
    ['an HTML page', page, CSV, column],
    ['a header of unknown names', 'a,b,c\n1,2,3\n', CSV, column],
    ['no header', renderCsv(['Bay']).split('\n')[1]!, CSV, column],
    ['JSON as CSV', `${JSON.stringify({ data: [1, 2] })}\n`, CSV, column],
    ['blank lines', ' \n,,\n\n', CSV, column],
    ['sep= with another delimiter than the header', 'sep=;\nname,email\n', CSV, column],
    ['no header, and a cell with the name of a column', 'Ada,Byron,Email\n', CSV, lacks('name, first_name')],
    ['a missing column', renderFile(COLUMNS.toSpliced(4, 1, 'Fax')), CSV, lacks('phone.')],
    [
      'UTF-16 without a byte order mark',
      Buffer.from(renderCsv(['Bay']), 'utf16le'),
      CSV,
      expect.stringContaining('NUL'),
    ],
    [
      'a repeated column',
      renderFile([...COLUMNS, 'E-Mail'], ',', [...CELLS, 'x']),
      CSV,
      'The header has the column email twice.',
    ],
    [
      'more columns than Excel allows',
      renderFile([...COLUMNS, ...Array(16_384).fill('')]),
      CSV,
      `The header has ${COLUMNS.length + 16_384} columns. It may have at most 16384.`,
    ],
    ['an HTML page as NDJSON', `\n${page}`, NDJSON, object],
    ['CSV as NDJSON', renderCsv(['Bay', 'Bow']), NDJSON, object],
    ['a JSON array', JSON.stringify([LEAD]), NDJSON, object],
    ['unknown fields', `${JSON.stringify({ Vorname: 'Ada' })}\n`, NDJSON, field],
  ]
  const findOutcome = importAll(files.map(([, file, type]) => [file, type]))

  test.each(files)('%s', (_what, file, _type, failure) => {
    const { done, errors } = findOutcome(file)
    expect(done).toMatchObject({ state: 'failed', rows_read: 0, rows_failed: 0, failure })
    expect(errors).toEqual([])
  })
})

describe('encodings', () => {
  const name = 'Fenêtre 12 £ 窓'
  const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

  const files: [what: string, file: File, type: string][] = [
    ['UTF-8', Buffer.from(renderCsv([name])), CSV],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${renderCsv([name])}`), 'text/csv'],
    [
      'UTF-8 with a byte order mark, declared as Windows-1252',
      Buffer.from(`\uFEFF${renderCsv([name])}`),
      'text/csv; charset=windows-1252',
    ],
    [
      'UTF-16 LE with a byte order mark',
      Buffer.from(`\uFEFF${renderCsv([name])}`, 'utf16le'),
      'text/csv; charset=utf-8',
    ],
    ['UTF-16 BE with a byte order mark', utf16be(`\uFEFF${renderCsv([name])}`), 'text/csv'],
    ['NDJSON in UTF-16', Buffer.from(`\uFEFF${JSON.stringify({ ...LEAD, name })}`, 'utf16le'), NDJSON],
  ]
  const findOutcome = importAll(files.map(([, file, type]) => [file, type]))

  test.each(files)('%s', (_what, file) => {
    const { done, leads } = findOutcome(file)
    expect(done).toMatchObject({ state: 'finished', rows_created: 1 })
    expect(leads).toMatchObject([{ name }])
  })

  test('Windows-1252 if the request declares it', async () => {
    const file = Buffer.concat([
      Buffer.from(`${renderCsv([]).trim()}\n`),
      Buffer.from([0x80, 0x20, 0x93, 0xa3, 0x94, 0x92, 0xe9, 0x9f]),
      Buffer.from(`,${CELLS.slice(1).join()}`),
    ])
    const done = await imports.run(file, { type: 'text/csv; charset="Windows-1252"' })
    expect(done).toMatchObject({ state: 'finished', rows_created: 1 })
    expect(await imports.leads()).toMatchObject([{ name: '€ “£”’éŸ' }])
  })

  test('the content type that Firefox sends for CSV, and an alias of an encoding', async () => {
    const file = Buffer.from(renderCsv(['Fenêtre']), 'latin1')
    const done = await imports.run(file, { type: 'application/vnd.ms-excel; charset=cp1252' })
    expect(done).toMatchObject({ state: 'finished', format: 'csv', rows_created: 1 })
    expect(await imports.leads()).toMatchObject([{ name: 'Fenêtre' }])
  })

  test.each([
    ['text/csv; charset=utf-7'],
    ['text/plain'],
    ['application/json; charset=windows-1252'],
  ])('%s is refused', async (type) => {
    expect(await imports.post(renderCsv([name]), { type })).toMatchObject({ status: 415 })
  })

  const header = `${COLUMNS.join()}\n`

  test.each([
    ['a pound sign of Windows-1252', [header, 'Bay,£'], 'Line 2, column 5: the byte 0xA3'],
    ['the first byte', ['ÿ'], 'Line 1, column 1: the byte 0xFF'],
    ['the last byte', [header, 'Bay', LINE_BREAK, 'é'], 'Line 3, column 1: the byte 0xE9'],
    [
      'a byte after longer characters',
      [header, Buffer.from('é窓😀'), 'é,'],
      'Line 2, column 4: the byte 0xE9',
    ],
    ['a truncated character', [Buffer.from('a😀').subarray(0, 3), '\n'], 'Line 1, column 2: the byte 0xF0'],
    [
      'half a surrogate pair',
      [Buffer.from('\uFEFFa\n\ud800b', 'utf16le')],
      'Line 2, column 1: the byte 0x00',
    ],
    [
      'a workbook',
      ['PK\x03\x04\x14\0ÿ'],
      'The file is a zip archive, such as an Excel workbook. Save it as CSV.',
    ],
    ['only a byte order mark', ['ï»¿'], 'The file must not be empty.'],
  ])('%s: the refusal names the place or the reason', async (_what, parts, message) => {
    const file = Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')))
    const errors = { file: [expect.stringContaining(message)] }
    expect(await imports.post(file)).toMatchObject({ status: 422, json: { errors } })
    // Sends the same file byte by byte.
    const body = Readable.from([...file].map((byte) => Buffer.from([byte])))
    const headers = { 'content-type': 'text/csv' }
    const slow = await tenant.client.request('POST', '/manage/imports', { body, headers })
    expect(slow).toMatchObject({ status: 422, json: { errors } })
    expect(await tenant.client.request('GET', '/manage/imports')).toMatchObject({ json: { data: [] } })
  })
})

describe('a row is validated like JSON', () => {
  const characters = ['\0', '\x01', '\x1b', '\x7f', '\x85', '\u200b', '\u2028', '\u202e', '\ufffd', '\ufeff']

  test.each(['name', 'first_name', 'description', 'postcode', 'company_name'])('in the %s', async (field) => {
    const texts = characters.map((character) => `a${character}b`)
    const leads = texts.map((text) => ({ ...LEAD, company_name: 'x', description: 'x', [field]: text }))
    const columns = Object.keys(leads[0]!)
    const rows = leads.map((lead) => Object.values(lead).join())
    const asJson = await Promise.all(
      leads.map((json) =>
        tenant.client.request<{ errors?: object; data: { reference: string } }>('POST', '/manage/leads', {
          json,
        }),
      ),
    )
    const good = { ...LEAD, company_name: 'x', description: 'x' }
    const done = await imports.run([columns.join(), Object.values(good).join(), ...rows].join('\n'))
    expect(done).toMatchObject({ state: 'finished', rows_read: rows.length + 1 })
    const { data } = await imports.errors(done.id)
    const errors = asJson.map(({ json }, index) => json.errors && { row: index + 2, errors: json.errors })
    expect(data).toMatchObject(errors.filter(Boolean))
  })
})

describe('what Excel writes', () => {
  const columns = [...COLUMNS, 'value', 'test', 'user_id']
  const row = (name: string, ...more: string[]) => [name, ...CELLS.slice(1), ...more].join()

  test('blank rows are skipped, and missing cells at the end of a row count as absent', async () => {
    const commas = ','.repeat(columns.length - 1)
    const lines = [
      columns.join(),
      row('one'),
      commas,
      ' , ,',
      '',
      '   ',
      '"",""',
      row('two', '12'),
      `${row('three')},,,,,`,
      commas,
    ]
    const done = await imports.run(lines.join(LINE_BREAK))
    expect(done).toMatchObject({ state: 'finished', rows_read: 3, rows_created: 3, rows_failed: 0 })
    expect((await imports.leads()).map(({ name, value }) => [name, value])).toEqual([
      ['one', 0],
      ['two', 12],
      ['three', 0],
    ])
  })

  const taken = [
    ['1500.00', 'TRUE', { value: 1500, test: 1 }],
    [' £4,500.00 ', 'Yes', { value: 4500, test: 1 }],
    ['4.5E+03', '1.0', { value: 4500, test: 1 }],
    ['0.00', 'no', { value: 0, test: 0 }],
    ['', '', { value: 0, test: 0 }],
    ['1500', '1', { value: 1500, test: 1 }],
  ] as const
  const refused = [
    ['1500.50', 'value', 'The value must be an integer, such as 4500. The cell has "1500.50".'],
    ['12,34', 'value', 'The value must be an integer, such as 4500. The cell has "12,34".'],
    ['-1.00', 'value', 'The value must be at least 0.'],
    ['WAHR', 'test', 'The test field must be true or false. The cell has "WAHR".'],
  ] as const
  const fileWith = (value: string, test: string) =>
    [columns.join(), row('one', `"${value}"`, test)].join('\n')
  const fileWithCell = (cell: string, field: string) =>
    [[...COLUMNS, field].join(), row('one', `"${cell}"`)].join('\n')
  const findOutcome = importAll([
    ...taken.map(([value, test]): [File] => [fileWith(value, test)]),
    ...refused.map(([cell, field]): [File] => [fileWithCell(cell, field)]),
  ])

  test.each(taken)('a value of %j and a test of %j', (value, test, lead) => {
    expect(findOutcome(fileWith(value, test)).leads).toMatchObject([lead])
  })

  test.each(refused)('%s is an error and not converted', (cell, field, message) => {
    const { errors } = findOutcome(fileWithCell(cell, field))
    expect(errors).toMatchObject([{ row: 1, errors: { [field]: [message] } }])
  })
})
