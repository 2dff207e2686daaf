import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      updateLead: async () => ({ body: Buffer.from('{}') }),
      checkReferences: async () => ({ leadMissing: true, userMissing: false, missingImageIds: [] }),
    },
  })
})
afterAll(() => gateway.stop())

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

const patch = (payload: string | Buffer | undefined, type?: string) =>
  gateway.send({
    method: 'PATCH',
    url: LEAD,
    headers: type ? { 'content-type': type } : {},
    ...(payload !== undefined && { payload }),
  })

test.each([
  ['application/json', '{"value":5}'],
  ['application/json; charset=utf-8', '{"value":5}'],
  ['APPLICATION/JSON', '{"value":"5"}'],
  ['application/merge-patch+json', '{"value":5}'],
  ['application/json', '\ufeff{"value":5}'],
  ['application/json', ''],
  ['application/x-www-form-urlencoded', 'value=5&notify=1'],
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
])('%s is a 415', async (type, payload) => {
  const response = await patch(payload, type)
  expect(response.statusCode).toBe(415)
  expect(response.json().type).toBe('/problems#unsupported-media-type')
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

test.each(['[]', '5', '"x"', 'null', 'true'])('%s is no object: 422, before the look-up', async (payload) => {
  const response = await patch(payload, 'application/json')
  expect(response.statusCode).toBe(422)
  expect(response.json().detail).toBe('The body must be a JSON object.')
})

test('a body of 1 MiB is read, one byte more is a 413', async () => {
  const body = (size: number) => `{"x":"${'a'.repeat(size - 8)}"}`
  expect((await patch(body(1024 * 1024), 'application/json')).statusCode).toBe(200)
  const response = await patch(body(1024 * 1024 + 1), 'application/json')
  expect(response.statusCode).toBe(413)
  expect(response.json().title).toBe('Content Too Large')
})

test('a form with absurdly many fields is a 413, never read in part', async () => {
  const form = Array.from({ length: 20_001 }, (_, i) => `f${i}=1`).join('&')
  expect((await patch(form, 'application/x-www-form-urlencoded')).statusCode).toBe(413)
})

test('in a form the last of several values counts', async () => {
  expect((await patch('value=x&value=7', 'application/x-www-form-urlencoded')).statusCode).toBe(200)
})

test('the token comes before the body, the body before the look-up', async () => {
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
