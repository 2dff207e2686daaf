import { createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type {
  AttachmentsServiceImplementation,
  CountCapturedBytesRequest,
  CreateLead,
  NewLead,
} from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, SERVICE_TOKEN, startGateway } from '../gateway.fixture'

const FORM = {
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'a@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
}

const created: CreateLead[] = []
const uploads: { name: string | null; size: number }[] = []
const attached: string[] = []
const deleted: string[] = []
const counted: CountCapturedBytesRequest[] = []
/** The initial time of PostgreSQL's clock, in milliseconds since the epoch. */
const START = 1_800_000_000_000
const clock = { now: START }
let gateway: RunningGateway
beforeAll(async () => {
  const createLeads = async ({ leads }: { leads: CreateLead[] }) => {
    created.push(...leads)
    const value = Buffer.from('{"data":{"reference":"r"}}')
    return { results: leads.map(() => ({ result: { $case: 'body' as const, value } })) }
  }
  const files: RequestListener = async (request, response) => {
    if (request.method === 'DELETE') {
      deleted.push(request.url!)
      return void response.writeHead(204).end()
    }
    let size = 0
    for await (const chunk of request) size += chunk.length
    const { searchParams } = new URL(request.url!, 'http://files')
    uploads.push({ name: searchParams.get('file_name'), size })
    const upload = { key: 'attachments/1.txt', size, content_type: 'text/plain', sha256: 'ab' }
    response.end(JSON.stringify(upload))
  }
  const attachFile: AttachmentsServiceImplementation['attachFile'] = async ({ file }) => {
    attached.push(file!.fileName)
    return { body: Buffer.from('{}') }
  }
  const countCapturedBytes: AttachmentsServiceImplementation['countCapturedBytes'] = async (request) => {
    counted.push(request)
    if (request.bytes > 200_000)
      throw new ServiceError('rate_limited', 'Too many bytes.', { retryAfterS: 60 })
    return {}
  }
  gateway = await startGateway(
    { leads: { createLeads }, files, attachments: { attachFile, countCapturedBytes } },
    { now: () => clock.now - START, databaseNow: () => clock.now },
  )
})
afterAll(() => gateway.stop())

const fetchStamp = async (token: string) =>
  (await gateway.send({ url: `/capture/${token}/stamp` })).json().data.stamp as string

let visitors = 0

/** Sends a form. Returns the lead that the gateway creates from the form. */
const capture = async (
  payload: object | string,
  { type = 'application/json', query = '', token = 'form' } = {},
): Promise<NewLead> => {
  visitors += 1
  const response = await gateway.send({
    method: 'POST',
    url: `/capture/${token}${query}`,
    payload,
    headers: { 'content-type': type },
    // Each visitor has a different IP address, because CAPTURE_RATE limits each address.
    remoteAddress: `192.0.2.${visitors}`,
  })
  expect([response.statusCode, response.body]).toEqual([200, expect.stringContaining('Thank you')])
  return created.at(-1)!.lead!
}

const statusWith = async (stamp: string) => {
  return (await capture({ ...FORM, stamp })).status
}

test.each([
  [0, 'spam'],
  [1999, 'spam'],
  [2000, 'open'],
  [365 * 86_400_000, 'open'],
])('a form %i ms after its stamp is %s', async (ms, status) => {
  const stamp = await fetchStamp('form')
  clock.now += ms
  expect(await statusWith(stamp)).toBe(status)
})

test('a stamp has PostgreSQL’s time, which all gateways share', async () => {
  expect(await fetchStamp('form')).toMatch(new RegExp(`^${clock.now}\\.`))
})

test('a stamp that is signed with the token of the services is none', async () => {
  const ms = clock.now
  const mac = createHmac('sha256', SERVICE_TOKEN).update(`capture-stamp 9 ${ms}`)
  clock.now += 5000
  expect(await statusWith(`${ms}.${mac.digest('base64url')}`)).toBe('spam')
})

test('the stamp of another token is none', async () => {
  const stamp = await fetchStamp('other-form')
  clock.now += 5000
  expect(await statusWith(stamp)).toBe('spam')
  expect(await statusWith('')).toBe('open')
})

const multipart = (fields: [name: string, value: string][]) =>
  [
    ...fields.map(
      ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    ),
    '--b--\r\n',
  ].join('')

const form = (change: [name: string, value: string][]) =>
  new URLSearchParams([...Object.entries(FORM), ...change]).toString()

const FORM_TYPE = 'application/x-www-form-urlencoded'

describe('what a visitor may not set is ignored', () => {
  const allowed = { status: 'open', userId: undefined, referrer: 'Website', attributes: undefined }

  test.each<[change: object]>([
    [{ status: 'sold' }],
    [{ status: 'closed' }],
    [{ status: ['sold'] }],
    [{ status: { a: 'sold' } }],
    [{ user_id: 5 }],
    [{ user_id: 'me' }],
    [{ referrer: 'Existing Customer' }],
    [{ referrer: 'https://search.example/?q=windows' }],
    [{ referrer: 'x'.repeat(300) }],
    [{ referrer: ['Existing Customer', 'Facebook'] }],
    [{ referrer: { a: 1 } }],
    [{ referrer: 7 }],
  ])('in JSON: %j', async (change) => {
    expect(await capture({ ...FORM, ...change })).toMatchObject(allowed)
  })

  test.each<[change: [name: string, value: string][]]>([
    [[['status', 'sold']]],
    [
      [
        ['status', 'open'],
        ['status', 'sold'],
      ],
    ],
    [
      [
        ['user_id', '5'],
        ['user_id', '6'],
      ],
    ],
    [[['user_id[]', '5']]],
    [
      [
        ['referrer', 'Facebook'],
        ['referrer', 'Existing Customer'],
      ],
    ],
  ])('in a form: %j', async (change) => {
    expect(await capture(form(change), { type: FORM_TYPE })).toMatchObject(allowed)
  })

  test('in a form with files', async () => {
    const refused: [string, string][] = [
      ['status', 'sold'],
      ['user_id', '5'],
      ['referrer', 'Existing Customer'],
    ]
    const body = multipart([...Object.entries(FORM), ...refused])
    expect(await capture(body, { type: 'multipart/form-data; boundary=b' })).toMatchObject(allowed)
  })

  test('in the query', async () => {
    const query = '?status=sold&user_id=5&referrer=Email&test=1&external_id=x'
    expect(await capture(FORM, { query })).toMatchObject({ ...allowed, test: false, externalId: undefined })
  })
})

test.each([
  ['Facebook', 'Facebook'],
  [' Live Chat ', 'Live Chat'],
  ['', 'Website'],
])('the referrer %j is %s', async (given, referrer) => {
  expect(await capture({ ...FORM, referrer: given })).toMatchObject({ referrer })
})

test('names of other fields of a lead are those of attributes', async () => {
  const fields = {
    value: 9,
    test: true,
    external_id: 'x',
    ip: 'x',
    quotes: '[]',
    Status: 'sold',
    'User-Id': 5,
  }
  const { attributes, ...lead } = await capture({ ...FORM, ...fields })
  expect(lead).toMatchObject({
    value: 0,
    test: false,
    externalId: undefined,
    quotes: [],
    status: 'open',
    userId: undefined,
    ip: `192.0.2.${visitors}`,
    upsert: undefined,
  })
  expect(JSON.parse(attributes!)).toEqual({
    value: 9,
    test: true,
    external_id: 'x',
    ip: 'x',
    quotes: '[]',
    status: 'sold',
    user_id: 5,
  })
})

describe('the surroundings of a form cost no lead', () => {
  const TOKEN = '03AFcWeA'.repeat(250)

  test.each([
    'g-recaptcha-response',
    'g-recaptcha-response-100000',
    'recaptcha_token',
    'h-captcha-response',
    'cf-turnstile-response',
    'frc-captcha-solution',
    'frc-captcha-response',
    'altcha',
    'mtcaptcha-verifiedtoken',
    'mt-captcha',
    'procaptcha-response',
    'cap-token',
    'fc-token',
    'smart-token',
    'geetest_validate',
    'CaptchaCode',
    'csrfmiddlewaretoken',
    'X-XSRF-TOKEN',
    'authenticity_token',
    '_token',
    '_gotcha',
    '__VIEWSTATE',
    '__proto__',
  ])('a technical field is dropped: %s', async (field) => {
    const { attributes, description } = await capture(form([[field, TOKEN]]), { type: FORM_TYPE })
    expect([attributes, description]).toEqual([undefined, undefined])
    const parts = multipart([...Object.entries(FORM), [field, TOKEN]])
    const sent = await capture(parts, { type: 'multipart/form-data; boundary=b' })
    expect([sent.attributes, sent.description]).toEqual([undefined, undefined])
  })

  test('technical fields in groups are dropped, and their neighbours are kept', async () => {
    const { attributes } = await capture(
      form([
        ['wpforms[recaptcha]', TOKEN],
        ['wpforms[room]', 'Kitchen'],
      ]),
      { type: FORM_TYPE },
    )
    expect(JSON.parse(attributes!)).toEqual({ wpforms: '{"room":"Kitchen"}' })
  })

  test('a form that is sent again with another response of a captcha is the same form', async () => {
    for (const response of ['first', 'second'])
      await capture(form([['g-recaptcha-response', response]]), { type: FORM_TYPE })
    const [first, second] = created.slice(-2).map(({ idempotency }) => idempotency!.key)
    expect(second).toBe(first)
    await capture(form([['room', 'Kitchen']]), { type: FORM_TYPE })
    expect(created.at(-1)!.idempotency!.key).not.toBe(first)
  })

  test('a honeypot with a technical name still finds programs', async () => {
    const lead = await capture({ ...FORM, _gotcha: 'x' }, { token: 'honeypot-form' })
    expect([lead.status, lead.attributes]).toEqual(['spam', undefined])
    expect((await capture({ ...FORM, _gotcha: '' }, { token: 'honeypot-form' })).status).toBe('open')
  })

  test('a text that is too long for an attribute goes into the description', async () => {
    const message = `${'Please ring the bell twice. '.repeat(40)}Ada`
    const dutch = `${'Grüße '.repeat(170)}Ada`
    const chinese = '厨房的窗户'.repeat(80)
    const lead = await capture({ ...FORM, 'Your-Message': message, room: 'Kitchen', dutch, chinese })
    expect(lead.description).toBe(`Your-Message: ${message}\ndutch: ${dutch}\nchinese: ${chinese}`)
    expect(JSON.parse(lead.attributes!)).toEqual({ room: 'Kitchen' })
    const both = await capture({ ...FORM, message, description: 'Two\nlines' })
    expect(both.description).toBe(`Two\nlines\n\nmessage: ${message}`)
    expect(both.attributes).toBeUndefined()
  })

  test('an address that is too long for an attribute is cut', async () => {
    const page = `https://www.example.com/windows?gclid=${'x'.repeat(2000)}`
    const lead = await capture({ ...FORM, landing_page: page })
    expect(JSON.parse(lead.attributes!)).toEqual({ landing_page: page.slice(0, 1024) })
    expect(lead.description).toBeUndefined()
  })

  test('a text of exactly 1,024 bytes is an attribute', async () => {
    const text = `${'é '.repeat(341)}.`
    expect(Buffer.byteLength(text)).toBe(1024)
    expect(JSON.parse((await capture({ ...FORM, text })).attributes!)).toEqual({ text })
  })

  test('fields whose names make one key share an attribute while they fit', async () => {
    const [first, second] = ['a '.repeat(300).trim(), 'b '.repeat(300).trim()]
    const lead = await capture({ ...FORM, Note: first, note: second, NOTE: 'short' })
    expect(JSON.parse(lead.attributes!)).toEqual({ note: `${first}, short` })
    expect(lead.description).toBe(`note: ${second}`)
  })

  test.each([
    ['a form', FORM_TYPE, form],
    [
      'a form with files',
      'multipart/form-data; boundary=b',
      (fields: [string, string][]) => multipart([...Object.entries(FORM), ...fields]),
    ],
  ])('all fields beyond the 30th of %s are joined into the description', async (_what, type, build) => {
    const many = Array.from({ length: 70 }, (_, n): [string, string] => [`field${n}`, `value ${n}`])
    const { attributes, description } = await capture(build(many), { type })
    expect(JSON.parse(attributes!)).toEqual(Object.fromEntries(many.slice(0, 30)))
    expect(description!.split('\n')).toEqual(many.slice(30).map(([field, value]) => `${field}: ${value}`))
  })

  test('a description has at most 10,000 characters, and shows that more was sent', async () => {
    const long = '🏠 '.repeat(6000)
    for (const fields of [{ description: long }, { message: long }]) {
      const { description } = await capture({ ...FORM, ...fields })
      expect([...description!]).toHaveLength(10_000)
      expect(description).toMatch(/…$/)
    }
    const exact = 'x'.repeat(10_000)
    expect((await capture({ ...FORM, description: exact })).description).toBe(exact)
  })

  test('a name of a field breaks no line of the description, and is cut', async () => {
    const text = 'a '.repeat(600).trim()
    const { description } = await capture({ ...FORM, ['a\r\nb\u0007']: text, ['x'.repeat(300)]: text })
    expect(description).toBe(`a b: ${text}\n${'x'.repeat(100)}: ${text}`)
  })

  test('a long title is cut', async () => {
    expect(await capture({ ...FORM, title: 'T'.repeat(5000) })).toMatchObject({ name: 'T'.repeat(255) })
  })

  test('empty file parts count for nothing', async () => {
    const file = (name: string, fileName: string, content = '') =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: application/octet-stream\r\n\r\n${content}\r\n`
    const inputs = Array.from({ length: 20 }, (_, n) => file(`photo${n}`, ''))
    const named = ['blob', 'photo.jpg', 'notes.exe', 'a.txt'].map((name) => file('files[]', name))
    const plan = file('plan', 'plan.txt', 'a plan'.repeat(20_000))
    const body = [...inputs, ...named, plan, multipart(Object.entries(FORM))].join('')
    await capture(body, { type: 'multipart/form-data; boundary=b' })
    expect(uploads).toEqual([{ name: 'plan.txt', size: 120_000 }])
    expect(attached).toEqual(['plan.txt'])
  })

  test('the bytes of all files count; beyond the limit of the day nothing is created or kept', async () => {
    const file = (name: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${name}.txt"\r\n\r\n${'a plan'.repeat(20_000)}\r\n`
    const leads = created.length
    const send = (payload: string) =>
      gateway.send({
        method: 'POST',
        url: '/capture/form',
        payload,
        remoteAddress: '198.51.100.202',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
    const response = await send([file('one'), file('two'), multipart(Object.entries(FORM))].join(''))
    expect(response.statusCode).toBe(429)
    expect(response.headers).toMatchObject({
      'retry-after': '60',
      'ratelimit-policy': '"bytes";q=2147483648;qu="content-bytes";w=86400',
      ratelimit: '"bytes";r=0;t=60',
    })
    expect(counted.at(-1)).toEqual({ accountId: 3, tokenId: 9, bytes: 240_000, dailyLimit: 2_147_483_648 })
    expect([created.length, deleted.length]).toEqual([leads, 2])
    // Neither an invalid form nor a form without files counts against the daily limit of bytes.
    const calls = counted.length
    expect((await send([file('one'), multipart([['email', 'x']])].join(''))).statusCode).toBe(422)
    expect((await send(multipart(Object.entries(FORM)))).statusCode).toBe(200)
    expect(counted).toHaveLength(calls)
  })
})

test('the page of a refused form names each field', async () => {
  const response = await gateway.send({
    method: 'POST',
    url: '/capture/form',
    payload: { ...FORM, email: 'x', ad_id: 2 ** 53 },
    headers: { accept: 'text/html' },
    remoteAddress: '198.51.100.200',
  })
  expect(response.statusCode).toBe(422)
  expect(response.body).toContain('<li>The email must be a valid email address.</li>')
  expect(response.body).toContain('<li>The ad id is too large for a number. Send it as a string.</li>')
})

describe('a title', () => {
  test.each([
    'Mrs',
    'MR.',
    ' dr ',
    'Ms',
    'Mx',
    'Prof. Dr',
    'Mr & Mrs',
    'Mr and Mrs',
    'Mr/Mrs',
    'Dr (Mrs)',
    'The Rev\u2019d',
    'Rt Hon',
    'Lady',
    'Sqn. Ldr.',
    'Other',
    'Prefer not to say',
  ])('that is a salutation never names the lead: %s', async (title) => {
    const lead = await capture({ ...FORM, title })
    expect([lead.name, lead.attributes]).toEqual(['Ada Byron', JSON.stringify({ title: title.trim() })])
    const named = await capture({ ...FORM, title, name: 'New windows' })
    expect([named.name, named.attributes]).toEqual(['New windows', JSON.stringify({ title: title.trim() })])
  })

  test.each([
    'Kitchen windows',
    'Mrs Byron',
    'Doctor\u2019s surgery',
    '窗户',
    '& Sons',
  ])('of a page names the lead: %s', async (title) => {
    const lead = await capture({ ...FORM, title })
    expect([lead.name, lead.attributes]).toEqual([title, undefined])
  })

  test('of a page is an attribute beside a name', async () => {
    const lead = await capture({ ...FORM, title: 'Kitchen windows', name: 'New windows' })
    expect([lead.name, lead.attributes]).toEqual(['New windows', '{"title":"Kitchen windows"}'])
  })

  test.each([5, true, ['Mrs'], { a: 1 }])('that is no text is refused: %j', async (title) => {
    const response = await gateway.send({
      method: 'POST',
      url: '/capture/form',
      payload: { ...FORM, title },
      remoteAddress: '198.51.100.201',
    })
    expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, ['title']])
  })

  test('that is empty leaves no attribute', async () => {
    const lead = await capture({ ...FORM, title: ' ' })
    expect([lead.name, lead.attributes]).toEqual(['Ada Byron', undefined])
  })
})
