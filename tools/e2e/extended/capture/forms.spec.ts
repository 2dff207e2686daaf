import { FORM, publish, RETURN_URL, readReference } from '../../support/capture'
import type { Answer, Part } from '../../support/client'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

const URLENCODED = 'application/x-www-form-urlencoded'

let stage: SharedStage
let tenant: Tenant
let form: Awaited<ReturnType<typeof publish>>
beforeAll(async () => {
  stage = await joinStage()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
  form = await publish(tenant, { return_url: RETURN_URL, honeypot: 'fax' })
})
afterAll(() => stage.stop())

const parts = (fields: Record<string, string>): Part[] =>
  Object.entries(fields).map(([name, value]) => ({ name, value }))

const retrieveLead = (answer: Answer) => tenant.send('GET', `/leads/${readReference(answer)}`)

const total = async () => (await tenant.client.request<{ total: number }>('GET', '/leads')).json.total

const listAttachments = (reference: string) =>
  tenant.send<{ file_name: string }[]>('GET', `/leads/${reference}/attachments`)

test.each<[string, object, object]>([
  ['its title', { title: 'Kitchen windows' }, { name: 'Kitchen windows' }],
  ['its name', { title: 'T', name: 'N' }, { name: 'N' }],
  ['a long title', { title: 'T'.repeat(400) }, { name: 'T'.repeat(255) }],
  [
    'its own values',
    { referrer: 'Facebook', description: 'a\nb' },
    { referrer: 'Facebook', description: 'a\nb' },
  ],
])('a form with %s', async (_what, fields, expected) => {
  expect(await retrieveLead(await form.send({ form: { ...FORM, ...fields } }))).toMatchObject(expected)
})

test('other fields of a form become attributes', async () => {
  const other =
    'utm_source=ad&Your-Message=%20a%0Ab&room=1%07&room[]=&room[]=2&1st=x&empty=&none[]=&none[]=&fax=&options[a]=1'
  // Names of attributes may not contain Cyrillic letters, so both fields become `field_`.
  const cyrillic = new URLSearchParams({ имя: 'Ada', город: 'York' })
  const body = `${new URLSearchParams(FORM)}&${other}&${cyrillic}`
  const type = { 'content-type': URLENCODED }
  const reference = readReference(await form.send({ body, headers: type }))
  const lead = await tenant.send('GET', `/manage/leads/${reference}`)
  expect(lead['attributes']).toEqual({
    utm_source: 'ad',
    your_message: 'a\nb',
    room: '1, 2',
    field_1st: 'x',
    options: '{"a":"1"}',
    field_: 'Ada, York',
  })
})

test('fields that are too many or too large for attributes go into the description', async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field${n}`, 'x']))
  const fields = {
    ...FORM,
    ...many,
    message: '\u{e9} '.repeat(400),
    'g-recaptcha-response': 'x'.repeat(2000),
  }
  const reference = readReference(await form.send({ multipart: parts(fields) }))
  const lead = await tenant.send('GET', `/manage/leads/${reference}`)
  expect(Object.keys(lead['attributes'] as object)).toHaveLength(30)
  expect(String(lead['description']).split('\n')).toEqual([
    ...Object.keys(many)
      .slice(30)
      .map((field) => `${field}: x`),
    `message: ${fields.message.trim()}`,
  ])
})

test('a number that would lose precision is refused', async () => {
  const { headers } = await form.send({ json: { ...FORM, ad_id: 2 ** 53 } })
  expect(headers['location']).toMatch(/error=invalid&field=ad_id$/)
})

test('the redirect leaves out an invalid field whose name is too long for a header', async () => {
  const { headers } = await form.send({
    form: { ...FORM, email: 'x', ['x'.repeat(60_000)]: 'x'.repeat(1025) },
  })
  expect(headers['location']).toMatch(/error=invalid&field=email$/)
})

test('a test token creates test leads', async () => {
  form = await publish(tenant, { return_url: RETURN_URL, test: true })
  expect(await retrieveLead(await form.send({ form: FORM }))).toMatchObject({ test: 1 })
})

describe('files', () => {
  const file = (value: Buffer | string, fileName: string, name = 'photo'): Part => ({ name, value, fileName })

  test.each<[string, Part[], number, string]>([
    ['a file of another type', [file('MZ', 'a.exe')], 303, 'field=photo'],
    ['a file with other content than its extension', [file('text', 'a.png')], 303, 'field=photo'],
    ['four files', ['1', '2', '3', '4'].map((n) => file(n, `${n}.txt`, `f${n}`)), 303, 'field=f4'],
    ['a file that is too large', [file(Buffer.alloc(10_485_761, 'a'), 'a.txt')], 413, ''],
  ])('%s is refused, and no lead is created', async (_what, files, status, location) => {
    const answer = await form.send({ multipart: [...parts(FORM), ...files] })
    expect([answer.status, String(answer.headers['location'] ?? '')]).toEqual([
      status,
      expect.stringContaining(location),
    ])
    expect(await total()).toBe(0)
  })

  test('three files of 10 MiB are accepted', async () => {
    const large = ['1', '2', '3'].map((n) => file(Buffer.alloc(10_485_760, n), `${n}.txt`))
    const answer = await form.send({ multipart: [...large, ...parts(FORM)] })
    expect(await listAttachments(readReference(answer))).toHaveLength(3)
  })
})

const LATIN = `${URLENCODED}; charset=iso-8859-1`

test.each<[string, { body: string | Buffer; type?: string }]>([
  ['no body', { body: '' }],
  ['bytes that are not UTF-8', { body: Buffer.from('first_name=\xe9', 'latin1') }],
  ['another charset', { body: 'first_name=a', type: LATIN }],
  ['escapes that are not UTF-8', { body: 'first_name=%ff' }],
  ['a NUL', { body: 'first_name=%00&x=%00' }],
  [
    'fields of objects',
    { body: 'first_name[a]=1&email[]=2&__proto__[x]=1&constructor=1&toString=2&x[y][z]=1' },
  ],
  ['a deeply nested field', { body: `a${'[b]'.repeat(5000)}=1` }],
  ['30,000 fields', { body: Array.from({ length: 30_000 }, (_, n) => `f${n}=1`).join('&') }],
  ['a field of a megabyte', { body: `first_name=${'a'.repeat(1_040_000)}` }],
  ['more than a megabyte', { body: `first_name=${'a'.repeat(2_000_000)}` }],
  ['broken JSON', { body: '{', type: 'application/json' }],
  ['another type', { body: 'x', type: 'text/plain' }],
  ['no boundary', { body: 'x', type: 'multipart/form-data' }],
  ['a missing boundary in the body', { body: 'x', type: 'multipart/form-data; boundary=b' }],
  [
    'a truncated multipart body',
    {
      body: '--b\r\nContent-Disposition: form-data; name="email"\r\n\r\nx',
      type: 'multipart/form-data; boundary=b',
    },
  ],
  [
    'a part in an unknown charset',
    {
      body: '--b\r\nContent-Disposition: form-data; name="email"\r\nContent-Type: text/plain; charset=nope\r\n\r\nx\r\n--b--\r\n',
      type: 'multipart/form-data; boundary=b',
    },
  ],
  [
    'a part without a name',
    {
      body: '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n',
      type: 'multipart/form-data; boundary=b',
    },
  ],
  [
    'a multipart field of a megabyte',
    {
      body: `--b\r\nContent-Disposition: form-data; name="email"\r\n\r\n${'x'.repeat(1_000_000)}\r\n--b--\r\n`,
      type: 'multipart/form-data; boundary=b',
    },
  ],
])('%s is refused, and no lead is created', async (_what, { body, type = URLENCODED }) => {
  const { status } = await form.send({ body, headers: { 'content-type': type } })
  expect([303, 400, 408, 413, 415]).toContain(status)
  expect(await total()).toBe(0)
})
