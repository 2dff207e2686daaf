import { type CreateLead, LEAD_REFERRERS, LEAD_STATUSES } from '@leadwire/contracts'
import { ServiceError, statusOf } from '@leadwire/service-kit'
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
let references: unknown[]

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      createLeads: async ({ leads }) => {
        asked.push(...leads)
        return { results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from('{"data":1}') } })) }
      },
      checkReferences: async (request) => {
        references.push(request)
        return { leadMissing: false, userMissing: request.userId === 404, missingImageIds: [] }
      },
    },
  })
})
beforeEach(() => {
  asked = []
  references = []
})
afterAll(() => gateway.stop())

const create = (payload: object, headers = {}) =>
  gateway.send({ method: 'POST', url: '/leads', payload, headers })

const errorsOf = async (change: object) => {
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
  expect(references).toEqual([])
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
  ['name', 'a\0b', 'The name contains characters that are not allowed.'],
  ['name', 'a\ud800', 'The name contains characters that are not allowed.'],
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
    'The email must be a valid email address. It has the invisible character U+200B.',
  ],
  [
    'status',
    'op\u00aden',
    `The selected status is invalid. It may be: ${LEAD_STATUSES.join(', ')}. It has the invisible character U+00AD.`,
  ],
  ['user_id', '5\u2060', 'The user id must be an integer. It has the invisible character U+2060.'],
  ['postcode', 'SW1A\ufe0f1AA', 'The postcode format is invalid. It has the invisible character U+FE0F.'],
  ['postcode', 'SW1A\u31641AA', 'The postcode format is invalid. It has the invisible character U+3164.'],
  ['postcode', 'SW1A', 'The postcode format is invalid.'],
  ['postcode', 'BFPO', 'The postcode format is invalid.'],
  ['postcode', 'BFPO 061', 'The postcode format is invalid.'],
  ['postcode', 'BFPO 12345', 'The postcode format is invalid.'],
  ['postcode', 'FIQQ 1ZY', 'The postcode format is invalid.'],
  ['postcode', 'ABCD 1ZZ', 'The postcode format is invalid.'],
  // Without the value: what an import refuses is kept for 30 days.
  ...['sw1a oaa', 'SWO 1AA', 'OX1OAA', 'BFPO 6O', 'GIR OAA'].map((given): [string, unknown, string] => [
    'postcode',
    given,
    'The postcode format is invalid. It has the letter O in place of a zero.',
  ]),
  ['postcode', '12345', 'The postcode format is invalid.'],
  ['postcode', 'SW1A 1AA 1', 'The postcode format is invalid.'],
  ['phone', 'none', 'The phone format is invalid.'],
  ['mobile', 'none', 'The mobile format is invalid.'],
  ['referrer', 'Direct', `The selected referrer is invalid. It may be: ${LEAD_REFERRERS.join(', ')}.`],
  ['referrer', 'website', `The selected referrer is invalid. It may be: ${LEAD_REFERRERS.join(', ')}.`],
  ['status', 'closed', `The selected status is invalid. It may be: ${LEAD_STATUSES.join(', ')}.`],
  ['status', 'constructor', `The selected status is invalid. It may be: ${LEAD_STATUSES.join(', ')}.`],
  ['user_id', 'x', 'The user id must be an integer.'],
  ['user_id', 1.5, 'The user id must be an integer.'],
  ['user_id', 0, 'The user id must be at least 1.'],
  ['user_id', '9007199254740993', 'The user id may not be greater than 9007199254740991.'],
])('%s %j gets the message: %s', async (field, value, message) => {
  expect(await errorsOf({ [field]: value })).toEqual({ [field]: [message] })
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
  expect(await errorsOf({ postcode: 'O'.repeat(500_000) })).toEqual({
    postcode: ['The postcode may not be greater than 255 characters.', 'The postcode format is invalid.'],
  })
})

test('an e-mail address of a mebibyte of accents is not normalised, which takes a minute', async () => {
  const start = performance.now()
  expect(await errorsOf({ email: `a${'\u0301\u0316'.repeat(250_000)}@example.com` })).toEqual({
    email: ['The email may not be greater than 255 characters.', 'The email must be a valid email address.'],
  })
  // Jest's own limit does not see what holds the event loop up.
  expect(performance.now() - start).toBeLessThan(20_000)
})

test('an unknown user is listed with the other errors', async () => {
  expect(await errorsOf({ user_id: 404, status: 'closed' })).toEqual({
    status: [`The selected status is invalid. It may be: ${LEAD_STATUSES.join(', ')}.`],
    user_id: ['The selected user id is invalid.'],
  })
  expect(references).toMatchObject([{ accountId: 3, userId: 404 }])
})

test('NULs are found at any depth, in keys, and in unknown fields', async () => {
  expect(await errorsOf({ extra: [{ 'a\0b': 1 }, { deep: 'x\0' }] })).toEqual({
    'extra.0.a\0b': ['The extra.0.a\0b contains characters that are not allowed.'],
    'extra.1.deep': ['The extra.1.deep contains characters that are not allowed.'],
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
            ? { result: { $case: 'failure', value: statusOf(ServiceError.invalid({ user_id: ['No.'] })) } }
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
