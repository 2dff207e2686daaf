import type { CreateTokenRequest } from '@leadwire/contracts'
import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const createToken = jest.fn(async ({ name, scopes, test }: CreateTokenRequest) => ({
  token: { id: 1, name, prefix: 'lw_live_', scopes, test, createdAt: '2026-01-01T00:00:00.000000Z' },
  secret: 'lw_live_x',
}))

const reference = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway({
    accounts: { createToken: createToken as never },
    leads: {
      updateLead: async () => ({ body: Buffer.from('{}') }),
      retrieveLeads: retrieveAllBut(reference),
    },
  })
})
afterAll(() => gateway.stop())

const LEAD = `/leads/${reference}`

const patch = (payload: string | Buffer | undefined, type?: string, headers = {}) =>
  gateway.send({
    method: 'PATCH',
    url: LEAD,
    headers: { ...headers, ...(type && { 'content-type': type }) },
    ...(payload !== undefined && { payload }),
  })

test.each([
  ['application/json', '{"value":5}'],
  ['application/json; charset=utf-8', '{"value":5}'],
  ['APPLICATION/JSON', '{"value":"5"}'],
  ['application/merge-patch+json', '{"value":5}'],
  ['application/json', '\ufeff{"value":5}'],
  ['application/json', ''],
  ['application/json; charset="UTF-8"', '{"value":5}'],
  ['application/json; charset=utf8', '{"value":5}'],
  ['application/x-www-form-urlencoded', 'value=5&notify=1'],
  ['application/x-www-form-urlencoded', 'value=5&notify=true'],
  ['application/x-www-form-urlencoded', 'notify=0&notify=1'],
  ['application/x-www-form-urlencoded', 'x=100%+%zz&notify=%66alse'],
  ['application/x-www-form-urlencoded; charset=UTF-8', ''],
  ['text/plain', ''],
])('%s %j is read', async (type, payload) => {
  expect((await patch(payload, type)).statusCode).toBe(200)
})

test('a request without a body needs no Content-Type', async () => {
  expect((await patch(undefined)).statusCode).toBe(200)
})

test.each([
  ['text/plain', '{"value":5}'],
  ['application/xml', '<value/>'],
  ['multipart/form-data; boundary=x', '--x--'],
  ['application/jsonx', '{}'],
  ['nonsense', '{}'],
  ['application/json; charset=latin1', '{"value":5}'],
  ['application/json;charset="iso-8859-1"', '{"value":5}'],
  ['application/x-www-form-urlencoded; charset=utf-16', 'value=5'],
  ['application/x-www-form-urlencoded', '{"value":5}'],
  ['application/x-www-form-urlencoded', ' {\n  "value": 5\n}\n'],
])('%s is a 415', async (type, payload) => {
  const response = await patch(payload, type)
  expect(response.statusCode).toBe(415)
  expect(response.json().type).toBe('/problems#unsupported-media-type')
})

test('of JSON without its type, as curl sends it, the right type is named', async () => {
  const response = await patch('{"value":5,"status":"sold"}', 'application/x-www-form-urlencoded')
  expect(response.json().detail).toMatch(/looks like JSON.* Send Content-Type: application\/json\./)
})

test.each([
  [
    'PATCH',
    LEAD,
    'text/plain',
    /^The Content-Type is text\/plain\. .* application\/json, application\/x-www-form-urlencoded\.$/,
  ],
  ['PATCH', LEAD, 'nonsense', /^The Content-Type is nonsense\. .* application\/json, /],
  ['PATCH', LEAD, undefined, /^The body has no Content-Type\. .* application\/json, /],
  ['PATCH', LEAD, `text/${'x'.repeat(500)}`, /^The Content-Type is text\/x{95}\. /],
  ['PATCH', LEAD, 'application/json; charset=latin1', /^The charset latin1 is not supported\. .* UTF-8\.$/],
  [
    'POST',
    `${LEAD}/attachments`,
    'application/json',
    /^The Content-Type is application\/json\. .* multipart\/form-data\.$/,
  ],
  ['POST', '/manage/imports', 'application/pdf', /^The Content-Type is application\/pdf\. .* text\/csv/],
  ['POST', '/manage/imports', 'nonsense', /^The Content-Type is nonsense\. .* text\/csv/],
  [
    'DELETE',
    '/manage/tokens/1',
    'text/plain',
    /^The Content-Type is text\/plain\. This operation accepts no body\.$/,
  ],
] as const)('a 415 of %s %s names %s and what is read', async (method, url, type, detail) => {
  const headers = type === undefined ? {} : { 'content-type': type }
  const response = await gateway.send({ method, url, headers, payload: 'x' })
  expect([response.statusCode, response.json().detail]).toEqual([415, expect.stringMatching(detail)])
})

test('a compressed body is told the coding that came', async () => {
  const response = await patch('{"value":5}', 'application/json', { 'content-encoding': 'gzip' })
  expect([response.statusCode, response.json().detail]).toEqual([
    415,
    'The Content-Encoding gzip is not supported. Send the body uncompressed.',
  ])
})

test.each([
  'gzip, chunked',
  'deflate,chunked',
  'identity, chunked',
  'gzip',
])('a body with Transfer-Encoding: %s is a 415', async (coding) => {
  const response = await patch('{"value":5}', 'application/json', { 'transfer-encoding': coding })
  expect([response.statusCode, response.json().detail]).toEqual([
    415,
    expect.stringContaining('Transfer-Encoding'),
  ])
})

test.each([
  ['{"value":'],
  ["{'value':5}"],
  ['{"value":5}{}'],
  ['{"value":NaN}'],
  ['undefined'],
  [Buffer.from('{"name":"\xff"}', 'latin1')],
  [`{"a":${'['.repeat(600)}${']'.repeat(600)}}`],
  [`${'['.repeat(500_000)}`],
])('unreadable JSON is a 400 (%#)', async (payload) => {
  expect((await patch(payload, 'application/json')).statusCode).toBe(400)
})

test.each([
  '[]',
  '5',
  '"x"',
  'null',
  'true',
])('%s is no object: 422, before the lead is retrieved', async (payload) => {
  const response = await patch(payload, 'application/json')
  expect(response.statusCode).toBe(422)
  expect(response.json().detail).toBe('The body must be a JSON object.')
})

const FORM = 'application/x-www-form-urlencoded'

test.each([
  [FORM, 'name=Ada&email=ada+crm@example.com', / The "\+" arrived as a space\. Write it as %2B\.$/],
  [FORM, 'name=Ada&email=ada%20crm', /must be a valid email address\.$/],
  ['application/json', '{"name":"Ada","email":"ada crm@example.com"}', /must be a valid email address\.$/],
])('an address in %s as %s is refused', async (type, payload, message) => {
  const headers = { 'content-type': type }
  const response = await gateway.send({ method: 'POST', url: '/manage/users', headers, payload })
  expect(response.json().errors).toEqual({ email: [expect.stringMatching(message)] })
})

test('a message about a field without a name has a subject', async () => {
  const payload = { name: 'Ada', email: 'ada@example.com', '': '\0' }
  const response = await gateway.send({ method: 'POST', url: '/manage/users', payload })
  expect(response.json().errors).toEqual({
    '': ['The field without a name contains a NUL or an unpaired surrogate. Remove it.'],
  })
})

test('a body of 1 MiB is read, one byte more is a 413', async () => {
  const body = (size: number) => `{"x":"${'a'.repeat(size - 8)}"}`
  expect((await patch(body(1024 * 1024), 'application/json')).statusCode).toBe(200)
  const response = await patch(body(1024 * 1024 + 1), 'application/json')
  expect(response.statusCode).toBe(413)
  expect(response.json().title).toBe('Content Too Large')
})

test.each([
  'user_email=%ff',
  'user_email=%C3',
  'user_email=%ed%a0%80',
  '%ff=x',
  'unknown=%fe%ff',
  Buffer.from('user_email=\xe9', 'latin1'),
])('a form that is no UTF-8 is a 400 (%#)', async (payload) => {
  const response = await patch(payload, 'application/x-www-form-urlencoded')
  expect(response.statusCode).toBe(400)
  expect(response.json().detail).toBe('The body is not well-formed UTF-8.')
})

test.each([
  '?page=%ff',
  '?x=%C3%28',
  '?%ed%a0%80=1',
])('a query that is no UTF-8 is a 400 (%s)', async (query) => {
  expect((await gateway.send({ url: `/leads${query}` })).statusCode).toBe(400)
})

test.each(['/leads/%ff', '/%C3'])('an address that is no UTF-8 is a 400 (%s)', async (url) => {
  expect((await gateway.send({ url })).statusCode).toBe(400)
})

test('booleans may be words, in JSON as in forms', async () => {
  for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
    const [word, other] = type.endsWith('json')
      ? ['{"notify":"true"}', '{"notify":"yes"}']
      : ['notify=true', 'notify=yes']
    expect((await patch(word, type)).statusCode).toBe(200)
    expect((await patch(other, type)).statusCode).toBe(404)
  }
})

test.each([
  ['scopes=leads&scopes=manage', ['leads', 'manage']],
  ['scopes[]=leads&scopes[]=manage', ['leads', 'manage']],
  ['scopes%5B%5D=leads', ['leads']],
  ['scopes[0]=leads&scopes[1]=manage', ['leads', 'manage']],
  ['scopes=leads', ['leads']],
])('%s is a list', async (form, scopes) => {
  createToken.mockClear()
  const response = await gateway.send({
    method: 'POST',
    url: '/manage/tokens',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `name=Form&${form}`,
  })
  expect(response.statusCode).toBe(200)
  expect(createToken.mock.calls[0]![0]).toMatchObject({ name: 'Form', scopes })
})

test('a form with absurdly many fields is a 413, never read in part', async () => {
  const form = Array.from({ length: 20_001 }, (_, i) => `f${i}=1`).join('&')
  expect((await patch(form, 'application/x-www-form-urlencoded')).statusCode).toBe(413)
})

test('in a form the last of several values counts', async () => {
  expect((await patch('value=x&value=7', 'application/x-www-form-urlencoded')).statusCode).toBe(200)
})

test('the token comes before the body, the body before the lead', async () => {
  const request = {
    method: 'PATCH',
    url: LEAD,
    payload: '{',
    headers: { 'content-type': 'application/json' },
  } as const
  const without = await gateway.app.inject(request)
  expect(without.statusCode).toBe(401)
  expect((await gateway.send(request)).statusCode).toBe(400)
  expect((await gateway.send({ ...request, payload: '{"value":-1}' })).statusCode).toBe(404)
})

test('a body that took all the time of its request is 408: no service timed out', async () => {
  const hasty = await startGateway({}, { requestLimitMs: 0 })
  const response = await hasty.send({ method: 'PATCH', url: LEAD, payload: { value: 5 } })
  expect([response.statusCode, response.json().type]).toEqual([408, '/problems#timeout'])
  await hasty.stop()
})
