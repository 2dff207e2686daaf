import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLeadwire, type FileToSend, LeadwireProblem } from './index'

const LEAD = {
  name: 'Bay window',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
} as const

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

interface Answer {
  status: number
  headers?: Record<string, string>
  body?: unknown
}

let server: Server
let baseUrl: string
let seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
/** In their order; the last one stays. A string ends the connection, before the answer or in its body. */
let answers: (Answer | 'reset' | 'cut')[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks = await request.toArray().catch(() => undefined)
    // The client broke it off.
    if (!chunks) return
    const body = Buffer.concat(chunks).toString()
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!
    if (answer === 'reset') return void request.socket.destroy()
    if (answer === 'cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99' })
      return void response.write('{"data":', () => request.socket.destroy())
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(JSON.stringify(answer.body ?? { data: {} }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  seen = []
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const UNAVAILABLE = {
  status: 503,
  headers: { 'retry-after': '0' },
  body: { type: '/problems#unavailable', title: 'Service Unavailable', status: 503, detail: 'Unavailable.' },
}

const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => Promise.reject(new Error('there was no problem')),
    (error: unknown) => error as LeadwireProblem,
  )

describe('sent again', () => {
  test('a create, with the same key, after an answer that passes and after a broken connection', async () => {
    answers = [UNAVAILABLE, 'reset', 'cut', { status: 200, body: { data: { reference: REFERENCE } } }]
    const { leads } = createLeadwire({ baseUrl: `${baseUrl}/`, token: 't' })
    expect(await leads.create(LEAD)).toEqual({ reference: REFERENCE })
    expect(seen.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual(
      Array(4).fill(['POST', '/leads', LEAD]),
    )
    const keys = seen.map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/^\d+(-\d+){3}$/)
    expect(new Set(keys).size).toBe(1)
    expect(seen[0]!.headers.authorization).toBe('Bearer t')
  })

  test('as often as was said, and then the last problem is thrown', async () => {
    answers = [UNAVAILABLE]
    const { leads } = createLeadwire({ baseUrl, token: 't', retries: 2 })
    expect(await problemOf(leads.retrieve(REFERENCE))).toMatchObject({ status: 503, kind: 'unavailable' })
    expect(seen).toHaveLength(3)
  })

  test('never an update, nor an operation that reads no key', async () => {
    answers = [UNAVAILABLE]
    const { leads, api } = createLeadwire({ baseUrl, token: 't' })
    await problemOf(leads.update(REFERENCE, { status: 'sold' }))
    await problemOf(api.POST('/manage/users', { body: { email: 'u@example.com', name: 'U' } }))
    expect(seen.map(({ method }) => method)).toEqual(['PATCH', 'POST'])
  })

  test('not when the wait is longer than a minute', async () => {
    answers = [{ ...UNAVAILABLE, headers: { 'retry-after': '61' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    expect(await problemOf(leads.statuses())).toMatchObject({ status: 503 })
    expect(seen).toHaveLength(1)
  })

  test('never what is wrong', async () => {
    const errors = { email: ['The email must be a valid email address.'] }
    const body = {
      type: '/problems#invalid',
      title: 'Unprocessable Content',
      status: 422,
      detail: 'No.',
      errors,
    }
    answers = [{ status: 422, body: { ...body, request_id: 'abc' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    const problem = await problemOf(leads.create(LEAD))
    expect(problem).toBeInstanceOf(LeadwireProblem)
    expect(problem).toMatchObject({ kind: 'invalid', status: 422, message: 'No.', requestId: 'abc', errors })
    expect(seen).toHaveLength(1)
  })

  test('not after it was called off, not even while it waits', async () => {
    answers = [{ ...UNAVAILABLE, headers: { 'retry-after': '3600' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    const called = new AbortController()
    const retrieved = leads.retrieve(REFERENCE, { signal: called.signal })
    while (seen.length === 0) await new Promise(setImmediate)
    called.abort()
    await expect(retrieved).rejects.toMatchObject({ name: 'AbortError' })
    expect(seen).toHaveLength(1)
  })
})

test('no answer at all, or half of one, is a problem too', async () => {
  answers = ['cut']
  const { api } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await problemOf(api.GET('/manage/users'))).toMatchObject({ status: 0, kind: 'unreachable' })
  const { leads } = createLeadwire({ baseUrl: 'http://127.0.0.1:9', token: 't', retries: 0 })
  expect(await problemOf(leads.statuses())).toMatchObject({ status: 0, kind: 'unreachable' })
})

test('an answer that is no problem document is one all the same', async () => {
  answers = [{ status: 502, body: 'Bad gateway' }]
  const { leads } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await problemOf(leads.statuses())).toMatchObject({ status: 502, kind: 'unknown', errors: {} })
})

test('a body of another form than that of a problem is one all the same', async () => {
  answers = [{ status: 500, body: { type: 5, errors: null } }]
  const { leads } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await problemOf(leads.statuses())).toMatchObject({ status: 500, kind: 'unknown', errors: {} })
})

test('that nothing has changed is no problem', async () => {
  answers = [{ status: 304 }]
  const { api } = createLeadwire({ baseUrl, token: 't' })
  const params = { path: { reference: REFERENCE }, header: { 'If-None-Match': '"3-1"' } }
  const { data, response } = await api.GET('/leads/{reference}', { params })
  expect([data, response.status]).toEqual([undefined, 304])
})

test('what the file or onProgress throws is thrown, and nothing is sent again', async () => {
  const tries = jest.fn(fetch)
  const { leads } = createLeadwire({ baseUrl, token: 't', fetch: tries })
  const attach = (file: Pick<FileToSend, 'content' | 'onProgress'>) =>
    leads.attach(REFERENCE, { name: 'Notes', fileName: 'notes.txt', ...file })
  const failure = new Error('no more')
  const fail = () => {
    throw failure
  }
  await expect(attach({ content: new Blob(['text']), onProgress: fail })).rejects.toBe(failure)
  await expect(attach({ content: new ReadableStream({ pull: fail }) })).rejects.toBe(failure)
  expect(tries).toHaveBeenCalledTimes(2)
})
