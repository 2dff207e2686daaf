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

const faultsOf = async (change: object) => {
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

test.each([
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
  ['postcode', 'SW1A', 'The postcode format is invalid.'],
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
])('%s %j is told: %s', async (field, value, message) => {
  expect(await faultsOf({ [field]: value })).toEqual({ [field]: [message] })
  expect(asked).toEqual([])
})

test.each([
  ['name', '  Windows  ', { name: 'Windows' }],
  ['name', '\u{1F600}'.repeat(255), { name: '\u{1F600}'.repeat(255) }],
  ['postcode', 'sw1a1aa', { postcode: 'SW1A 1AA' }],
  ['postcode', ' m1  1 ae ', { postcode: 'M1 1AE' }],
  ['postcode', 'gir0aa', { postcode: 'GIR 0AA' }],
  ['company_name', '', { companyName: undefined }],
  ['company_name', null, { companyName: undefined }],
  ['mobile', ' 07700 900123 ', { mobile: '07700 900123' }],
  ['user_id', '12', { userId: 12 }],
  ['email', "o'brien+leads@mail.example.co.uk", { email: "o'brien+leads@mail.example.co.uk" }],
])('%s %j is taken as it is meant', async (field, value, lead) => {
  expect((await create({ ...LEAD, [field]: value })).statusCode).toBe(200)
  expect(asked[0]!.lead).toMatchObject(lead)
})

test('an unknown user is listed with the other faults', async () => {
  expect(await faultsOf({ user_id: 404, status: 'closed' })).toEqual({
    status: [`The selected status is invalid. It may be: ${LEAD_STATUSES.join(', ')}.`],
    user_id: ['The selected user id is invalid.'],
  })
  expect(references).toMatchObject([{ accountId: 3, userId: 404 }])
})

test('NULs are found at any depth, in keys, and in fields nobody knows', async () => {
  expect(await faultsOf({ extra: [{ 'a\0b': 1 }, { deep: 'x\0' }] })).toEqual({
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
  const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const [first, second, turned, third] = asked.map(({ idempotency }) =>
    hexOf(idempotency!.unorderedFingerprint!),
  )
  expect(second).toBe(first)
  expect(turned).toBe(first)
  expect(third).not.toBe(first)
  const [ordered, again, turnedOrder] = asked.map(({ idempotency }) => hexOf(idempotency!.fingerprint))
  expect(again).toBe(ordered)
  expect(turnedOrder).not.toBe(ordered)
})

test('one faulty lead of a batch fails alone', async () => {
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
