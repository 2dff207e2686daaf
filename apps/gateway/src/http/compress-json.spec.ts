import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { UpdateLeadRequest } from '@leadwire/contracts'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
// The plugin compresses a short body at once, and a long body as a stream.
const LENGTHS = [2000, 100_000]
const buildBody = (length: number) => JSON.stringify({ data: { text: 'lead '.repeat(length / 5) } })

let body: string
let updates: UpdateLeadRequest[]
const leadResult = () => ({ result: { $case: 'body' as const, value: Buffer.from(body) }, etag: '"3-77"' })
const behind = {
  leads: {
    retrieveLeads: async ({ leads }: { leads: object[] }) => ({ results: leads.map(leadResult) }),
    listLeads: async ({ pages }: { pages: object[] }) => ({
      results: pages.map(() => ({
        result: {
          $case: 'page' as const,
          value: { items: Buffer.from(`[${body}]`), count: 1, total: 1, perPage: 20 },
        },
      })),
    }),
    updateLead: async (request: UpdateLeadRequest) => {
      updates.push(request)
      return { body: Buffer.from(body), etag: '"4-77"' }
    },
  },
}

let gateway: RunningGateway
let plain: RunningGateway
beforeAll(async () => {
  gateway = await startGateway(behind, { config: { COMPRESSION: true } })
  plain = await startGateway(behind)
})
beforeEach(() => {
  body = buildBody(LENGTHS[0]!)
  updates = []
})
afterAll(() => Promise.all([gateway.stop(), plain.stop()]))

const get = (accept?: string, headers = {}, url = LEAD) =>
  gateway.send({ url, headers: { ...(accept && { 'accept-encoding': accept }), ...headers } })

const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync }

test.each(
  LENGTHS.flatMap((length) => [
    ['br', 'gzip, deflate, br', length] as const,
    ['gzip', 'gzip', length] as const,
  ]),
)('JSON is sent as %s for Accept-Encoding: %s (%i bytes)', async (encoding, accept, length) => {
  body = buildBody(length)
  const answer = await get(accept)
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-encoding': encoding,
    etag: `"3-77+${encoding}"`,
    vary: 'accept-encoding',
  })
  expect(String(UNPACK[encoding](answer.rawPayload))).toBe(body)
  const head = await gateway.send({ method: 'HEAD', url: LEAD, headers: { 'accept-encoding': accept } })
  const { date: _1, 'x-request-id': _2, 'transfer-encoding': _3, ...headers } = head.headers
  expect(answer.headers).toMatchObject(headers)
  expect(headers).toMatchObject({ 'content-encoding': encoding, etag: `"3-77+${encoding}"` })
  expect([head.statusCode, head.body]).toEqual([200, ''])
})

test.each([
  undefined,
  'identity',
  'deflate',
  'gzip;q=0, br;q=0',
])('nothing is compressed for Accept-Encoding: %s', async (accept) => {
  const answer = await get(accept)
  expect([answer.body, answer.headers.etag, answer.headers.vary]).toEqual([body, '"3-77"', 'accept-encoding'])
  expect(answer.headers).not.toHaveProperty('content-encoding')
})

test('what is short is sent as it is', async () => {
  body = '{"data":{}}'
  const answer = await get('br')
  expect([answer.body, answer.headers.etag]).toEqual([body, '"3-77"'])
  expect(answer.headers).not.toHaveProperty('content-encoding')
  const problem = await gateway.send({
    method: 'PATCH',
    url: LEAD,
    payload: { value: -1 },
    headers: { 'accept-encoding': 'br' },
  })
  expect([problem.statusCode, problem.json().status]).toEqual([422, 422])
})

test('a page has another tag in each encoding, and each is known again', async () => {
  const tags = []
  for (const accept of ['identity', 'gzip', 'br']) {
    const { etag } = (await get(accept, {}, '/leads')).headers
    const again = await get(accept, { 'if-none-match': etag }, '/leads')
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
    tags.push(etag)
  }
  expect(new Set(tags).size).toBe(3)
})

test.each([
  '"3-77"',
  '"3-77+br"',
  '"3-77+gzip"',
  'W/"3-77+br"',
])('a client that has %s gets 304 with the same tag, whatever it accepts', async (tag) => {
  for (const accept of [undefined, 'gzip', 'br']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const headers = { 'if-none-match': tag, ...(accept && { 'accept-encoding': accept }) }
      const answer = await gateway.send({ method, url: LEAD, headers })
      expect([answer.statusCode, answer.body]).toEqual([304, ''])
      expect(answer.headers).toMatchObject({ etag: tag.replace('W/', ''), vary: 'accept-encoding' })
      expect(answer.headers).not.toHaveProperty('content-encoding')
    }
  }
})

test('a change may name the tag of any encoding, with the setting and without', async () => {
  for (const { send } of [gateway, plain]) {
    const headers = { 'if-match': '"3-77+br", "2-77+gzip", "1-77", W/"3-77+br", "5-77+zip"' }
    expect((await send({ method: 'PATCH', url: LEAD, payload: { value: 1 }, headers })).statusCode).toBe(200)
  }
  const etags = ['"3-77"', '"2-77"', '"1-77"', '"5-77+zip"']
  expect(updates.map(({ ifMatch }) => ifMatch)).toEqual([{ etags }, { etags }])
})

test('without the setting nothing is compressed', async () => {
  const answer = await plain.send({ url: LEAD, headers: { 'accept-encoding': 'br, gzip' } })
  expect([answer.body, answer.headers.etag, answer.headers.vary]).toEqual([body, '"3-77"', undefined])
})

test('bodies of requests are not read compressed', async () => {
  const answer = await gateway.send({
    method: 'PATCH',
    url: LEAD,
    payload: '{"value":1}',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  })
  expect([answer.statusCode, updates]).toEqual([415, []])
})
