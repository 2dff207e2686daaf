import { eventually } from '@leadwire/test-kit'
import type { Answer, Part } from '../client'
import { PNG, SAMPLES } from '../files/samples.fixture'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'
import { FORM, publish, RETURN_URL, referenceOf } from './capture.fixture'

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

const leadOf = (answer: Answer) => tenant.send('GET', `/leads/${referenceOf(answer)}`)

const total = async () => (await tenant.client.request<{ total: number }>('GET', '/leads')).json.total

const attachmentsOf = (reference: string) =>
  tenant.send<{ file_name: string }[]>('GET', `/leads/${reference}/attachments`)

test('a form makes a lead with its defaults, and sends the person back', async () => {
  const { receiver } = await tenant.listen()
  const answer = await form.send({ form: FORM, headers: { 'user-agent': 'Firefox/145.0' } })
  expect(String(answer.headers['location'])).toMatch(
    /^https:\/\/www\.example\.com\/thanks\?from=a%20form&%E9&reference=/,
  )
  const { customer, ...lead } = await leadOf(answer)
  expect(lead).toMatchObject({
    ...{ name: 'Ada Lovelace', referrer: 'Website', status: 'open', ip: '127.0.0.1' },
    ...{ user_agent: 'Firefox/145.0', description: null },
  })
  expect(customer).toMatchObject({ email: FORM['email'], postcode: FORM['postcode'] })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
})

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
  expect(await leadOf(await form.send({ form: { ...FORM, ...fields } }))).toMatchObject(expected)
})

test('its other fields become attributes', async () => {
  const other =
    'utm_source=ad&Your-Message=%20a%0Ab&room=1%07&room[]=&room[]=2&1st=x&empty=&none[]=&none[]=&fax=&options[a]=1'
  // No letter of these may stand in a key.
  const cyrillic = new URLSearchParams({ имя: 'Ada', город: 'York' })
  const body = `${new URLSearchParams(FORM)}&${other}&${cyrillic}`
  const type = { 'content-type': URLENCODED }
  const reference = referenceOf(await form.send({ body, headers: type }))
  const lead = await tenant.send('GET', `/manage/leads/${reference}`)
  expect(lead['attributes']).toEqual({
    ...{ utm_source: 'ad', your_message: 'a\nb', room: '1, 2', field_1st: 'x', options: '{"a":"1"}' },
    field_: 'Ada, York',
  })
})

test('too many and too large ones are refused', async () => {
  const many = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`field${n}`, 'x']))
  for (const [fields, field] of [
    [many, 'field30'],
    [{ message: '\u{e9}'.repeat(513) }, 'message'],
    [{ ['__proto__']: 'x'.repeat(1025) }, '__proto__'],
  ] as const) {
    const { headers } = await form.send({ multipart: parts({ ...FORM, ...fields }) })
    expect(headers['location']).toMatch(new RegExp(`error=invalid&field=${field}$`))
  }
  // It would be another number.
  const { headers } = await form.send({ json: { ...FORM, ad_id: 2 ** 53 } })
  expect(headers['location']).toMatch(/error=invalid&field=ad_id$/)
})

test('a page is not sent a field with a name that no header can have', async () => {
  const { headers } = await form.send({
    form: { ...FORM, email: 'x', ['x'.repeat(100_000)]: 'x'.repeat(1025) },
  })
  expect(headers['location']).toMatch(/error=invalid&field=email$/)
})

test('a test token makes test leads', async () => {
  form = await publish(tenant, { return_url: RETURN_URL, test: true })
  expect(await leadOf(await form.send({ form: FORM }))).toMatchObject({ test: 1 })
})

test('without an Origin it passes, with another it does not, and unknown tokens are not found', async () => {
  expect((await form.send({ form: FORM }, '')).status).toBe(303)
  expect((await form.send({ form: FORM }, 'https://other.example')).status).toBe(403)
  expect((await form.send({ form: FORM }, 'null')).status).toBe(403)
  const unknown = await tenant.client.request('POST', '/capture/lw_pub_x', { token: '', form: FORM })
  expect(unknown.status).toBe(404)
})

test('what is invalid is named to the page', async () => {
  const { phone: _, ...fields } = FORM
  const { status, headers } = await form.send({ form: { ...fields, email: 'x' } })
  expect([status, headers['location']]).toEqual([303, `${RETURN_URL}&error=invalid&field=phone&field=email`])
  expect(await total()).toBe(0)
})

test('without a return_url there is a page', async () => {
  form = await publish(tenant)
  const headers = { accept: 'text/html,*/*;q=0.8' }
  const thanks = await form.send({ form: FORM, headers })
  expect([thanks.status, thanks.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(thanks.text).toContain('Thank you')
  const refused = await form.send({ form: { ...FORM, email: '<b>' }, headers })
  expect([refused.status, refused.headers['content-type']]).toEqual([422, 'text/html; charset=utf-8'])
  expect(refused.text).toContain('The email must be a valid email address.')
  expect(refused.headers['content-security-policy']).toMatch(/^default-src 'none'/)
  const json = await form.send({ form: { ...FORM, email: 'x' } })
  expect([json.status, json.headers['content-type']]).toEqual([
    422,
    'application/problem+json; charset=utf-8',
  ])
})

describe('the same form again', () => {
  test('is the same lead, however many at once; another form is another', async () => {
    const { receiver } = await tenant.listen()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        form.send(index % 2 ? { form: FORM } : { multipart: parts(FORM) }),
      ),
    )
    expect(new Set(answers.map(referenceOf)).size).toBe(1)
    expect(referenceOf(await form.send({ form: FORM }))).toBe(referenceOf(answers[0]!))
    const other = await form.send({ form: { ...FORM, first_name: 'Grace' } })
    expect(referenceOf(other)).not.toBe(referenceOf(answers[0]!))
    expect(await total()).toBe(2)
    await eventually(() => expect(receiver.requests).toHaveLength(2))
  })

  test('from another token it is another lead', async () => {
    const other = await publish(tenant, { return_url: RETURN_URL })
    await form.send({ form: FORM })
    await other.send({ form: FORM })
    expect(await total()).toBe(2)
  })
})

describe('programs', () => {
  test('who fills in the honeypot sends spam', async () => {
    expect(await leadOf(await form.send({ form: { ...FORM, fax: '1' } }))).toMatchObject({ status: 'spam' })
    const twiceEmpty = {
      body: `${new URLSearchParams(FORM)}&fax=&fax=`,
      headers: { 'content-type': URLENCODED },
    }
    for (const empty of [{ form: { ...FORM, fax: ' ' } }, twiceEmpty])
      expect(await leadOf(await form.send(empty))).toMatchObject({ status: 'open' })
  })

  test('who sends at once, or makes up a stamp, sends spam', async () => {
    const path = `/capture/${form.token}/stamp`
    const { json } = await tenant.client.request<{ data: { stamp: string } }>('GET', path, { token: '' })
    const { stamp } = json.data
    for (const one of [stamp, 'made up', `${Number.parseInt(stamp, 10) - 5000}.${stamp.split('.')[1]}`]) {
      const fields = { ...FORM, stamp: one, company_name: one.slice(0, 20) }
      expect(await leadOf(await form.send({ form: fields }))).toMatchObject({ status: 'spam' })
    }
    const headers = { origin: 'https://other.example' }
    expect((await tenant.client.request('GET', path, { token: '', headers })).status).toBe(403)
  })
})

describe('files', () => {
  const file = (value: Buffer | string, fileName: string, name = 'photo'): Part => ({ name, value, fileName })

  test('become attachments, once for each form', async () => {
    const multipart = [
      ...parts(FORM),
      file('', ''),
      file(PNG, 'a.png'),
      file(SAMPLES.find(({ extension }) => extension === 'pdf')!.bytes, 'b.pdf', 'plan'),
      file('Text.', 'C:\\fake\\c.txt'),
    ]
    const [one, two] = await Promise.all([form.send({ multipart }), form.send({ multipart })])
    const again = await form.send({ multipart })
    expect(new Set([one, two, again].map((answer) => referenceOf(answer!))).size).toBe(1)
    const attached = await attachmentsOf(referenceOf(one!))
    expect(attached.map(({ file_name }) => file_name).sort()).toEqual(['a.png', 'b.pdf', 'c.txt'])
  })

  test.each<[string, Part[], number, string]>([
    ['of another type', [file('MZ', 'a.exe')], 303, 'field=photo'],
    ['whose content is another', [file('text', 'a.png')], 303, 'field=photo'],
    ['four of them', ['1', '2', '3', '4'].map((n) => file(n, `${n}.txt`, `f${n}`)), 303, 'field=f4'],
    ['too large', [file(Buffer.alloc(10_485_761, 'a'), 'a.txt')], 413, ''],
  ])('%s: refused, and no lead is made', async (_what, files, status, location) => {
    const answer = await form.send({ multipart: [...parts(FORM), ...files] })
    expect([answer.status, String(answer.headers['location'] ?? '')]).toEqual([
      status,
      expect.stringContaining(location),
    ])
    expect(await total()).toBe(0)
  })

  test('three of 10 MiB are taken', async () => {
    const large = ['1', '2', '3'].map((n) => file(Buffer.alloc(10_485_760, n), `${n}.txt`))
    const answer = await form.send({ multipart: [...large, ...parts(FORM)] })
    expect(await attachmentsOf(referenceOf(answer))).toHaveLength(3)
  })
})

const LATIN = `${URLENCODED}; charset=iso-8859-1`

test.each<[string, { body: string | Buffer; type?: string }]>([
  ['no body', { body: '' }],
  ['bytes that are no UTF-8', { body: Buffer.from('first_name=\xe9', 'latin1') }],
  ['another charset', { body: 'first_name=a', type: LATIN }],
  ['escapes that are no UTF-8', { body: 'first_name=%ff' }],
  ['a NUL', { body: 'first_name=%00&x=%00' }],
  [
    'fields of objects',
    { body: 'first_name[a]=1&email[]=2&__proto__[x]=1&constructor=1&toString=2&x[y][z]=1' },
  ],
  ['a deep field', { body: `a${'[b]'.repeat(5000)}=1` }],
  ['30,000 fields', { body: Array.from({ length: 30_000 }, (_, n) => `f${n}=1`).join('&') }],
  ['a megabyte of a field', { body: `first_name=${'a'.repeat(1_040_000)}` }],
  ['more than a megabyte', { body: `first_name=${'a'.repeat(2_000_000)}` }],
  ['JSON that is none', { body: '{', type: 'application/json' }],
  ['another type', { body: 'x', type: 'text/plain' }],
  ['no boundary', { body: 'x', type: 'multipart/form-data' }],
  ['a boundary that does not come', { body: 'x', type: 'multipart/form-data; boundary=b' }],
  [
    'half a multipart body',
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
])('%s is refused and nothing else', async (_what, { body, type = URLENCODED }) => {
  const { status } = await form.send({ body, headers: { 'content-type': type } })
  expect([303, 400, 408, 413, 415]).toContain(status)
  expect(await total()).toBe(0)
})
