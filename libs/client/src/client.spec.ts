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

interface Reply {
  status: number
  headers?: Record<string, string>
  body?: unknown
}

let server: Server
let baseUrl: string
let seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
/**
 * The replies in their order. The last reply is repeated. A string closes the connection: `reset` before the
 * response, `cut` in the middle of its body.
 */
let replies: (Reply | 'reset' | 'cut')[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks = await request.toArray().catch(() => undefined)
    // The client aborted the request.
    if (!chunks) return
    const body = Buffer.concat(chunks).toString()
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!
    if (reply === 'reset') return void request.socket.destroy()
    if (reply === 'cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99' })
      return void response.write('{"data":', () => request.socket.destroy())
    }
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    response.end(JSON.stringify(reply.body ?? { data: {} }))
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

const catchProblem = (promise: Promise<unknown>) =>
  promise.then(
    () => Promise.reject(new Error('there was no problem')),
    (error: unknown) => error as LeadwireProblem,
  )

describe('retries', () => {
  test('are made for a create, with the same key, after a temporary error or a broken connection', async () => {
    replies = [UNAVAILABLE, 'reset', 'cut', { status: 200, body: { data: { reference: REFERENCE } } }]
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

  test('stop after the configured number, and the last problem is thrown', async () => {
    replies = [UNAVAILABLE]
    const { leads } = createLeadwire({ baseUrl, token: 't', retries: 2 })
    expect(await catchProblem(leads.retrieve(REFERENCE))).toMatchObject({ status: 503, kind: 'unavailable' })
    expect(seen).toHaveLength(3)
  })

  test('are never made for an update, nor for an operation without an idempotency key', async () => {
    replies = [UNAVAILABLE]
    const { leads, api } = createLeadwire({ baseUrl, token: 't' })
    await catchProblem(leads.update(REFERENCE, { status: 'sold' }))
    await catchProblem(api.POST('/manage/users', { body: { email: 'u@example.com', name: 'U' } }))
    expect(seen.map(({ method }) => method)).toEqual(['PATCH', 'POST'])
  })

  test('are not made if Retry-After is longer than a minute', async () => {
    replies = [{ ...UNAVAILABLE, headers: { 'retry-after': '61' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    expect(await catchProblem(leads.statuses())).toMatchObject({ status: 503 })
    expect(seen).toHaveLength(1)
  })

  test('are never made for an invalid request', async () => {
    const errors = { email: ['The email must be a valid email address.'] }
    const body = {
      type: '/problems#invalid',
      title: 'Unprocessable Content',
      status: 422,
      detail: 'No.',
      errors,
    }
    replies = [{ status: 422, body: { ...body, request_id: 'abc' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    const problem = await catchProblem(leads.create(LEAD))
    expect(problem).toBeInstanceOf(LeadwireProblem)
    expect(problem).toMatchObject({ kind: 'invalid', status: 422, message: 'No.', requestId: 'abc', errors })
    expect(seen).toHaveLength(1)
  })

  test('end when the caller aborts, also during a pause', async () => {
    replies = [{ ...UNAVAILABLE, headers: { 'retry-after': '3600' } }]
    const { leads } = createLeadwire({ baseUrl, token: 't' })
    const called = new AbortController()
    const retrieved = leads.retrieve(REFERENCE, { signal: called.signal })
    while (seen.length === 0) await new Promise(setImmediate)
    called.abort()
    await expect(retrieved).rejects.toMatchObject({ name: 'AbortError' })
    expect(seen).toHaveLength(1)
  })
})

test('a missing or incomplete response is a problem', async () => {
  replies = ['cut']
  const { api } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await catchProblem(api.GET('/manage/users'))).toMatchObject({ status: 0, kind: 'unreachable' })
  const { leads } = createLeadwire({ baseUrl: 'http://127.0.0.1:9', token: 't', retries: 0 })
  expect(await catchProblem(leads.statuses())).toMatchObject({ status: 0, kind: 'unreachable' })
})

test('an error response without a problem document is a problem', async () => {
  replies = [{ status: 502, body: 'Bad gateway' }]
  const { leads } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await catchProblem(leads.statuses())).toMatchObject({ status: 502, kind: 'unknown', errors: {} })
})

test('an error response with a malformed problem document is a problem', async () => {
  replies = [{ status: 500, body: { type: 5, errors: null } }]
  const { leads } = createLeadwire({ baseUrl, token: 't', retries: 0 })
  expect(await catchProblem(leads.statuses())).toMatchObject({ status: 500, kind: 'unknown', errors: {} })
})

test('a 304 is not a problem', async () => {
  replies = [{ status: 304 }]
  const { api } = createLeadwire({ baseUrl, token: 't' })
  const params = { path: { reference: REFERENCE }, header: { 'If-None-Match': '"3-1"' } }
  const { data, response } = await api.GET('/leads/{reference}', { params })
  expect([data, response.status]).toEqual([undefined, 304])
})

test('an error of the file or of onProgress is thrown unchanged, and nothing is retried', async () => {
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
