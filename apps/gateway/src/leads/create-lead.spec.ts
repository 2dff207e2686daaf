import { type CreateLead, LEAD_REFERRERS, LEAD_STATUSES } from '@leadwire/contracts'
import { ServiceError, toRpcStatus } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = {
  name: 'Windows',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

let gateway: RunningGateway
let asked: CreateLead[]

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      createLeads: async ({ leads }) => {
        asked.push(...leads)
        return { results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from('{"data":1}') } })) }
      },
    },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(() => gateway.stop())

const create = (payload: object, headers = {}) =>
  gateway.send({ method: 'POST', url: '/leads', payload, headers })

const fetchErrors = async (change: object) => {
  const response = await create({ ...LEAD, ...change })
  expect(response.statusCode).toBe(422)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  return response.json().errors
}

test('a lead is passed on, and its answer given on byte for byte', async () => {
  const response = await create(LEAD, {
    'user-agent': 'Spec/1.0',
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  })
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.body).toBe('{"data":1}')
  expect(asked).toMatchObject([
    {
      accountId: 3,
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      lead: { name: 'Windows', userAgent: 'Spec/1.0', ip: '127.0.0.1', value: 0, test: false, quotes: [] },
    },
  ])
})

test('every missing field is named at once', async () => {
  const response = await create({})
  expect(response.statusCode).toBe(422)
  expect(Object.keys(response.json().errors)).toEqual(Object.keys(LEAD).sort((a, b) => order(a) - order(b)))
  expect(response.json().errors.first_name).toEqual(['The first name field is required.'])
})
const ORDER = ['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status']
const order = (field: string) => ORDER.indexOf(field)

test.each<[field: string, value: unknown, message: string]>([
  ['name', null, 'The name field is required.'],
  ['name', '', 'The name field is required.'],
  ['name', '   ', 'The name field is required.'],
  ['name', 5, 'The name must be a string.'],
  ['name', ['x'], 'The name must be a string.'],
  ['name', 'é'.repeat(256), 'The name may not be greater than 255 characters.'],
  ['name', 'a\0b', 'The name contains a NUL or an unpaired surrogate. Remove it.'],
  ['name', 'a\ud800', 'The name contains a NUL or an unpaired surrogate. Remove it.'],
  ['email', 'ada', 'The email must be a valid email address.'],
  ['email', 'ada@', 'The email must be a valid email address.'],
  ['email', '@example.com', 'The email must be a valid email address.'],
  ['email', 'ada@exa mple.com', 'The email must be a valid email address.'],
  ['email', 'a..b@example.com', 'The email must be a valid email address.'],
  ['email', 'ada@example.com\nbcc: x@example.com', 'The email must be a valid email address.'],
  ['email', `${'a'.repeat(65)}@example.com`, 'The email must be a valid email address.'],
  ['email', 'ada@localhost', 'The email must be a valid email address.'],
  ['email', 'ada@192.168.0.1', 'The email must be a valid email address.'],
  ['email', 'ada@10.1', 'The email must be a valid email address.'],
  ['email', 'ada@[192.168.0.1]', 'The email must be a valid email address.'],
  ['email', 'ada@[IPv6:2001:db8::1]', 'The email must be a valid email address.'],
  [
    'email',
    'ada@example.com\u200b',
    'The email must be a valid email address. The value has the invisible character U+200B.',
  ],
  [
    'status',
    'op\u00aden',
    `The selected status is invalid. Allowed values: ${LEAD_STATUSES.join(', ')}. The value has the invisible character U+00AD.`,
  ],
  ['user_id', '5\u2060', 'The user id must be an integer. The value has the invisible character U+2060.'],
  [
    'postcode',
    'SW1A\ufe0f1AA',
    'The postcode format is invalid. Use a UK postcode such as SW1A 1AA. The value has the invisible character U+FE0F.',
  ],
  [
    'postcode',
    'SW1A\u31641AA',
    'The postcode format is invalid. Use a UK postcode such as SW1A 1AA. The value has the invisible character U+3164.',
  ],
  ['postcode', 'SW1A', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'BFPO', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'BFPO 061', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'BFPO 12345', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'FIQQ 1ZY', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'ABCD 1ZZ', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  // The message must not contain the value. An import keeps its errors for 30 days, and an erasure deletes the
  // source of a refused row but not its errors.
  ...['sw1a oaa', 'SWO 1AA', 'OX1OAA', 'BFPO 6O', 'GIR OAA'].map((given): [string, unknown, string] => [
    'postcode',
    given,
    'The postcode format is invalid. Use a UK postcode such as SW1A 1AA. The value has the letter O in place of a zero.',
  ]),
  ['postcode', '12345', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['postcode', 'SW1A 1AA 1', 'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'],
  ['phone', 'none', 'The phone format is invalid. Use a telephone number with at least one digit.'],
  ['mobile', 'none', 'The mobile format is invalid. Use a telephone number with at least one digit.'],
  ['referrer', 'Direct', `The selected referrer is invalid. Allowed values: ${LEAD_REFERRERS.join(', ')}.`],
  ['referrer', 'website', `The selected referrer is invalid. Allowed values: ${LEAD_REFERRERS.join(', ')}.`],
  ['status', 'closed', `The selected status is invalid. Allowed values: ${LEAD_STATUSES.join(', ')}.`],
  ['status', 'constructor', `The selected status is invalid. Allowed values: ${LEAD_STATUSES.join(', ')}.`],
  ['user_id', 'x', 'The user id must be an integer.'],
  ['user_id', 1.5, 'The user id must be an integer.'],
  ['user_id', 0, 'The user id must be at least 1.'],
  ['user_id', '9007199254740993', 'The user id may not be greater than 9007199254740991.'],
])('%s %j gets the message: %s', async (field, value, message) => {
  expect(await fetchErrors({ [field]: value })).toEqual({ [field]: [message] })
  expect(asked).toEqual([])
})

test.each<[field: string, value: unknown, lead: object]>([
  ['name', '  Windows  ', { name: 'Windows' }],
  ['name', '\u{1F600}'.repeat(255), { name: '\u{1F600}'.repeat(255) }],
  ['postcode', 'sw1a1aa', { postcode: 'SW1A 1AA' }],
  ['postcode', ' m1  1 ae ', { postcode: 'M1 1AE' }],
  ['postcode', 'gir0aa', { postcode: 'GIR 0AA' }],
  ['postcode', 'sw1a\u200b 1aa\ufeff', { postcode: 'SW1A 1AA' }],
  ['postcode', '\u202asw1a\u00a01aa\u202c', { postcode: 'SW1A 1AA' }],
  ['postcode', 'bfpo61', { postcode: 'BFPO 61' }],
  ['postcode', ' BFPO  5765 ', { postcode: 'BFPO 5765' }],
  ['postcode', 'bf1 3aa', { postcode: 'BF1 3AA' }],
  ...['ASCN', 'BBND', 'BIQQ', 'FIQQ', 'PCRN', 'SIQQ', 'STHL', 'TDCU', 'TKCA'].map(
    (territory): [string, unknown, object] => [
      'postcode',
      `${territory.toLowerCase()}1zz`,
      { postcode: `${territory} 1ZZ` },
    ],
  ),
  ...[
    'राम@example.com',
    'संपर्क@डाटामेल.भारत',
    'สมชาย@ตัวอย่าง.ไทย',
    'محمّد@مثال.إختبار',
    'اُردو@ایران\u200cخودرو.ایران',
    '用户@例子.广告',
    '𠮷田@example.jp',
    'ü@bücher.example',
    'a@xn--bcher-kva.example',
    '"a b"@example.com',
  ].map((email): [string, unknown, object] => ['email', email, { email }]),
  ['email', 'Jose\u0301@mu\u0308nchen.example', { email: 'José@münchen.example' }],
  ['company_name', '', { companyName: undefined }],
  ['company_name', null, { companyName: undefined }],
  ['mobile', ' 07700 900123 ', { mobile: '07700 900123' }],
  ['user_id', '12', { userId: 12 }],
  ['email', "o'brien+leads@mail.example.co.uk", { email: "o'brien+leads@mail.example.co.uk" }],
])('%s %j is taken as it is meant', async (field, value, lead) => {
  expect((await create({ ...LEAD, [field]: value })).statusCode).toBe(200)
  expect(asked[0]!.lead).toMatchObject(lead)
})

test('a postcode of half a mebibyte gets no hint', async () => {
  expect(await fetchErrors({ postcode: 'O'.repeat(500_000) })).toEqual({
    postcode: [
      'The postcode may not be greater than 255 characters.',
      'The postcode format is invalid. Use a UK postcode such as SW1A 1AA.',
    ],
  })
})

test('an e-mail address of a mebibyte of accents is not normalised, which takes a minute', async () => {
  const normalize = jest.spyOn(String.prototype, 'normalize')
  expect(await fetchErrors({ email: `a${'\u0301\u0316'.repeat(250_000)}@example.com` })).toEqual({
    email: ['The email may not be greater than 255 characters.', 'The email must be a valid email address.'],
  })
  const lengths = normalize.mock.contexts.map((text) => String(text).length)
  expect(Math.max(0, ...lengths)).toBeLessThan(10_000)
  normalize.mockRestore()
})

test('the user of an invalid lead is not looked up', async () => {
  expect(await fetchErrors({ user_id: 404, status: 'closed' })).toEqual({
    status: [`The selected status is invalid. Allowed values: ${LEAD_STATUSES.join(', ')}.`],
  })
  expect(asked).toEqual([])
})

test('NULs are found at any depth, in keys, and in unknown fields', async () => {
  expect(await fetchErrors({ extra: [{ 'a\0b': 1 }, { deep: 'x\0' }] })).toEqual({
    'extra.0.a\0b': ['The extra.0.a\0b contains a NUL or an unpaired surrogate. Remove it.'],
    'extra.1.deep': ['The extra.1.deep contains a NUL or an unpaired surrogate. Remove it.'],
  })
})

test('keys that poison prototypes are unknown fields like any other', async () => {
  const payload = `{"__proto__":{"status":"sold"},"constructor":{"prototype":{"x":1}},${JSON.stringify(LEAD).slice(1)}`
  const response = await gateway.send({
    method: 'POST',
    url: '/leads',
    headers: { 'content-type': 'application/json' },
    payload,
  })
  expect(response.statusCode).toBe(200)
  expect(asked[0]!.lead).toMatchObject({ status: 'open' })
  expect(({} as Record<string, unknown>)['status']).toBeUndefined()
})

test('a form says the same as JSON', async () => {
  const response = await gateway.send({
    method: 'POST',
    url: '/leads',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...LEAD, user_id: '5' }).toString(),
  })
  expect(response.statusCode).toBe(200)
  expect(asked[0]!.lead).toMatchObject({ name: 'Windows', userId: 5 })
})

test('the user agent is cut at 1024 characters and never missing', async () => {
  await create(LEAD, { 'user-agent': 'x'.repeat(2000) })
  await create(LEAD, { 'user-agent': '' })
  expect(asked.map(({ lead }) => lead!.userAgent)).toEqual(['x'.repeat(1024), 'unknown'])
})

test.each([
  ['UTF-8', 'Größe/1.0 (日本)', 'utf8'],
  ['Latin-1', 'Größe/1.0', 'latin1'],
] as const)('a user agent in %s is kept as it was meant', async (_, userAgent, encoding) => {
  await create(LEAD, { 'user-agent': Buffer.from(userAgent, encoding).toString('latin1') })
  expect(asked[0]!.lead!.userAgent).toBe(userAgent)
})

test('a test token makes test leads', async () => {
  await create(LEAD, { authorization: 'Bearer test' })
  expect(asked[0]!.lead!.test).toBe(true)
})

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  ['"a\\"b"', 'a"b'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('the Idempotency-Key %j is understood', async (header, key) => {
  await create(LEAD, { 'idempotency-key': header })
  expect(asked[0]!.idempotency).toMatchObject({ tokenId: 7, key })
})

test.each([
  '',
  '""',
  'x'.repeat(256),
  '"abc',
  'schlüssel',
])('the Idempotency-Key %j is a 400', async (header) => {
  expect((await create(LEAD, { 'idempotency-key': header })).statusCode).toBe(400)
})

test('a fingerprint is of what is asked, not of how it is written', async () => {
  const headers = { 'idempotency-key': 'k' }
  await create(LEAD, headers)
  await gateway.send({
    method: 'POST',
    url: '/leads/?x=1',
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    payload: JSON.stringify(LEAD, null, 2),
  })
  await create(Object.fromEntries(Object.entries(LEAD).toReversed()), headers)
  await create({ ...LEAD, name: 'Doors' }, headers)
  const [first, second, turned, third] = asked.map(({ idempotency }) =>
    Buffer.from(idempotency!.fingerprint).toString('hex'),
  )
  expect([second, turned]).toEqual([first, first])
  expect(third).not.toBe(first)
})

test('one invalid lead of a batch fails alone', async () => {
  const mixed = await startGateway({
    leads: {
      createLeads: async ({ leads }) => ({
        results: leads.map(({ lead }) =>
          lead!.userId === 9
            ? { result: { $case: 'failure', value: toRpcStatus(ServiceError.invalid({ user_id: ['No.'] })) } }
            : { result: { $case: 'body', value: Buffer.from('{}') } },
        ),
      }),
    },
  })
  const answers = await Promise.all(
    [1, 9, 2].map((user_id) => mixed.send({ method: 'POST', url: '/leads', payload: { ...LEAD, user_id } })),
  )
  await mixed.stop()
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 422, 200])
  expect(answers[1]!.json().errors).toEqual({ user_id: ['No.'] })
})

describe('with a publishable token', () => {
  const PUBLIC_REFERRERS = LEAD_REFERRERS.filter((referrer) => referrer !== 'Existing Customer')
  let visitors = 0

  const createAsVisitor = (body: object | string, { query = '', headers = {} } = {}) => {
    visitors += 1
    return gateway.send({
      method: 'POST',
      url: `/leads${query}`,
      payload: typeof body === 'string' ? body : { ...LEAD, ...body },
      headers: { authorization: 'Bearer form', origin: 'https://www.example.com', ...headers },
      // Each visitor has a different IP address, because CAPTURE_RATE limits each address.
      remoteAddress: `192.0.2.${visitors}`,
    })
  }

  const userError = { user_id: ['The user id cannot be set with this token. Leave it out.'] }
  const statusError = { status: ['The selected status is invalid. Allowed values: open.'] }
  const referrerError = {
    referrer: [`The selected referrer is invalid. Allowed values: ${PUBLIC_REFERRERS.join(', ')}.`],
  }

  test.each<[change: object, errors: object]>([
    [{ user_id: 5 }, userError],
    [{ user_id: 404 }, userError],
    [{ user_id: 'x' }, userError],
    [{ user_id: [5] }, userError],
    [{ user_id: false }, userError],
    [{ status: 'sold' }, statusError],
    [{ status: 'test' }, statusError],
    [{ status: 'closed' }, statusError],
    [{ referrer: 'Existing Customer' }, referrerError],
    [{ referrer: 'Direct' }, referrerError],
    [
      { user_id: 404, status: 'spam', referrer: 'Existing Customer' },
      { ...referrerError, ...statusError, ...userError },
    ],
  ])('%j is refused, and no user is looked up', async (change, errors) => {
    const response = await createAsVisitor(change)
    expect([response.statusCode, response.json().errors]).toEqual([422, errors])
    expect(response.headers['access-control-allow-origin']).toBe('https://www.example.com')
    expect(asked).toEqual([])
  })

  test.each([
    ['user_id=5', userError],
    ['user_id=&user_id=5', userError],
    ['user_id[]=5', userError],
    ['user_id[a]=5', userError],
    ['status=open&status=sold', statusError],
  ])('the form %s is refused', async (change, errors) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await createAsVisitor(`${new URLSearchParams(LEAD)}&${change}`, { headers })
    expect([response.statusCode, response.json().errors]).toEqual([422, errors])
    expect(asked).toEqual([])
  })

  test.each(PUBLIC_REFERRERS)('the referrer %s is taken', async (referrer) => {
    expect((await createAsVisitor({ referrer, user_id: null })).statusCode).toBe(200)
    expect(asked[0]!.lead).toMatchObject({ referrer, status: 'open', userId: undefined })
  })

  test('nothing else of the request sets a field of the lead', async () => {
    const unknown = {
      value: 9,
      test: true,
      external_id: 'x',
      description: 'x',
      ip: '198.51.100.1',
      user_agent: 'x',
      referrer_url: 'https://a.example',
      attributes: { a: 1 },
      quotes: [{ items: [] }],
      type: 'x',
    }
    const query = '?user_id=5&status=sold&test=1'
    const headers = { 'x-forwarded-for': '198.51.100.1', forwarded: 'for=198.51.100.1' }
    expect((await createAsVisitor(unknown, { query, headers })).statusCode).toBe(200)
    expect(asked[0]!.lead).toMatchObject({
      value: 0,
      test: false,
      status: 'open',
      ip: `192.0.2.${visitors}`,
      quotes: [],
      userId: undefined,
      externalId: undefined,
      description: undefined,
      attributes: undefined,
      referrerUrl: undefined,
      upsert: undefined,
    })
    expect(asked[0]!.lead!.userAgent).not.toBe('x')
  })
})
