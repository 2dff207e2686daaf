import type { UpdateLeadRequest } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const ETAG = '"3-77"'
const NEW_LEAD = {
  name: 'Windows',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

let etag: string | undefined
let total: number
let updates: UpdateLeadRequest[]
const body = Buffer.from('{"data":{}}')
const leadResult = () => ({ result: { $case: 'body' as const, value: body }, etag })
const behind = {
  leads: {
    retrieveLeads: async ({ leads }: { leads: object[] }) => ({ results: leads.map(leadResult) }),
    createLeads: async ({ leads }: { leads: object[] }) => ({ results: leads.map(leadResult) }),
    listLeads: async ({ pages }: { pages: object[] }) => ({
      results: pages.map(() => ({
        result: {
          $case: 'page' as const,
          value: { items: Buffer.from('[{}]'), count: 1, total, perPage: 20 },
        },
      })),
    }),
    updateLead: async (request: UpdateLeadRequest) => {
      updates.push(request)
      if (request.ifMatch?.etags.includes('"1-77"'))
        throw new ServiceError('precondition_failed', 'The lead was changed.')
      return { body, etag }
    },
  },
}

let gateway: RunningGateway
let withoutAddress: RunningGateway
beforeAll(async () => {
  gateway = await startGateway(behind)
  withoutAddress = await startGateway(behind, { config: { PUBLIC_URL: undefined } })
})
beforeEach(() => {
  etag = ETAG
  total = 1
  updates = []
})
afterAll(() => Promise.all([gateway.stop(), withoutAddress.stop()]))

const read = (ifNoneMatch: string, method: 'GET' | 'HEAD' = 'GET') =>
  gateway.send({ method, url: LEAD, headers: { 'if-none-match': ifNoneMatch } })

test('a lead has its tag when it is read, created and changed', async () => {
  const answers = [
    await gateway.send({ url: LEAD }),
    await gateway.send({ method: 'HEAD', url: LEAD }),
    await gateway.send({ method: 'POST', url: '/leads', payload: NEW_LEAD }),
    await gateway.send({ method: 'POST', url: '/manage/leads', payload: NEW_LEAD }),
    await gateway.send({ method: 'PATCH', url: LEAD, payload: { value: 1 } }),
  ]
  expect(answers.map(({ statusCode, headers }) => [statusCode, headers.etag])).toEqual(
    answers.map(() => [200, ETAG]),
  )
})

test('without a tag of leads-service the response has none', async () => {
  etag = undefined
  const answer = await read('*')
  expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([200, String(body), undefined])
})

test.each([
  '"3-77"',
  'W/"3-77"',
  '"1-77", "3-77"',
  ' "a,b" ,, W/"3-77" ,',
  '\t"3-77"\t',
  '*',
])('If-None-Match: %s is a 304 without a body', async (header) => {
  for (const method of ['GET', 'HEAD'] as const) {
    const answer = await read(header, method)
    expect([answer.statusCode, answer.body]).toEqual([304, ''])
    expect(answer.headers).toMatchObject({ etag: ETAG, 'cache-control': 'no-store' })
    expect(answer.headers).toMatchObject({ 'x-request-id': expect.any(String) })
    // A response to HEAD has the Content-Length of the whole body.
    expect(answer.headers['content-length']).toBe(method === 'HEAD' ? String(body.length) : undefined)
  }
})

test.each([
  '"4-77"',
  '"1-77", "13-77"',
  '3-77',
  '"3-77',
  'w/"3-77"',
  'W/ "3-77"',
  '"3-77" "1-77"',
  '*, "3-77"',
  '',
])('If-None-Match: %s is answered in full', async (header) => {
  const answer = await read(header)
  expect([answer.statusCode, answer.body]).toEqual([200, String(body)])
})

test('a page has a strong tag of its bytes', async () => {
  const list = (headers = {}, url = '/leads') => gateway.send({ url, headers })
  const first = await list()
  const { etag: tag } = first.headers
  expect(tag).toMatch(/^"[\w-]{43}"$/)
  expect((await list()).headers.etag).toBe(tag)
  expect((await list({ 'if-none-match': tag })).statusCode).toBe(304)
  expect((await list({}, '/leads?page=2')).headers.etag).not.toBe(tag)
  total = 2
  const changed = await list({ 'if-none-match': tag })
  expect(changed.statusCode).toBe(200)
  expect(changed.headers.etag).not.toBe(tag)
})

test('the tag of a page is another one under another address', async () => {
  const tags = await Promise.all(
    ['one.example', 'two.example'].map(async (host) => {
      const answer = await withoutAddress.send({ url: '/leads', headers: { host } })
      expect(answer.body).toContain(host)
      return answer.headers.etag
    }),
  )
  expect(new Set(tags).size).toBe(2)
})

const change = (ifMatch: string | undefined, payload: object = { value: 1 }) =>
  gateway.send({
    method: 'PATCH',
    url: LEAD,
    payload,
    headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
  })

test.each<[string | undefined, string[] | undefined]>([
  [undefined, undefined],
  ['*', ['*']],
  ['"3-77"', ['"3-77"']],
  ['"3-77" , "a,b",', ['"3-77"', '"a,b"']],
  // A weak tag never matches in a strong comparison.
  ['W/"3-77"', []],
  ['W/"2-77", "3-77"', ['"3-77"']],
])('If-Match: %s is passed on', async (header, etags) => {
  expect((await change(header)).statusCode).toBe(200)
  expect(updates.map(({ ifMatch }) => ifMatch)).toEqual([etags && { etags }])
})

test('a lead that is another one by now is a 412', async () => {
  const answer = await change('"1-77"')
  expect(answer.statusCode).toBe(412)
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(answer.json()).toMatchObject({
    type: '/problems#precondition-failed',
    title: 'Precondition Failed',
    detail: 'The lead was changed.',
  })
})

test.each([
  '3-77',
  '"3-77',
  '"3-77" x',
  '"3 77"',
  'w/"3-77"',
  '*, "3-77"',
  '** ',
  ',',
  '',
  `"1"${' '.repeat(8000)}x`,
])('If-Match: %s is a 400, whatever the body is', async (header) => {
  const answer = await change(header, { value: 'x' })
  expect(answer.statusCode).toBe(400)
  expect(answer.json().detail).toContain('If-Match')
  expect(updates).toEqual([])
})

test('errors of fields come before the precondition', async () => {
  const answer = await change('"1-77"', { value: -1 })
  expect([answer.statusCode, Object.keys(answer.json().errors)]).toEqual([422, ['value']])
  expect(updates).toEqual([])
})
