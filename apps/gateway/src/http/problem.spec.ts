import { createLogger, type ErrorCode, ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'
import { DOCUMENTED_PROBLEMS } from './problem-help'

let gateway: RunningGateway
let failure: Error
beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      updateLead: async () => {
        throw failure
      },
    },
  })
})
afterAll(() => gateway.stop())

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

const fail = (error: Error) => {
  failure = error
  return gateway.send({ method: 'PATCH', url: LEAD, payload: {} })
}

test.each<[ErrorCode, number, string]>([
  ['bad_request', 400, 'Bad Request'],
  ['unauthenticated', 401, 'Unauthorized'],
  ['forbidden', 403, 'Forbidden'],
  ['not_found', 404, 'Not Found'],
  ['conflict', 409, 'Conflict'],
  ['precondition_failed', 412, 'Precondition Failed'],
  ['too_large', 413, 'Content Too Large'],
  ['invalid', 422, 'Unprocessable Content'],
  ['unavailable', 503, 'Service Unavailable'],
  ['late', 504, 'Gateway Timeout'],
  ['internal', 500, 'Internal Server Error'],
])('%s becomes %i', async (code, status, title) => {
  const response = await fail(
    new ServiceError(code, 'What happened.', { cause: new Error('the inside story') }),
  )
  expect(response.statusCode).toBe(status)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(response.headers['retry-after']).toBe(status === 503 ? '1' : undefined)
  const challenge = status === 401 ? 'Bearer error="invalid_token"' : undefined
  expect(response.headers['www-authenticate']).toBe(challenge)
  expect(response.body).not.toContain('inside story')
  const problem = response.json()
  expect(problem).toMatchObject({ title, status, request_id: response.headers['x-request-id'] })
  expect(problem.type).toMatch(/^\/problems#[a-z-]+$/)
  if (status < 500) expect(problem.detail).toBe('What happened.')
})

test('errors keep their fields', async () => {
  const response = await fail(ServiceError.invalid({ user_email: ['The selected user email is invalid.'] }))
  expect(response.json().errors).toEqual({ user_email: ['The selected user email is invalid.'] })
})

test('a bug behind is a 500 that says nothing', async () => {
  const response = await fail(new TypeError('secret detail'))
  expect(response.statusCode).toBe(500)
  expect(response.body).not.toContain('secret')
})

test('a service that stays unavailable is logged once for each route, with its repeats', async () => {
  const lines: object[] = []
  const logger = createLogger({ service: 'gateway', level: 'silent' })
  logger.warn = (fields: object) => void lines.push(fields)
  const unavailable = async () => {
    throw new ServiceError('unavailable', 'Away.')
  }
  const other = await startGateway(
    { leads: { updateLead: unavailable, listLeadHistory: unavailable } },
    { logger },
  )
  const update = () => other.send({ method: 'PATCH', url: LEAD, payload: {} })
  for (const response of await Promise.all([update(), update(), update()]))
    expect(response.statusCode).toBe(503)
  expect(lines).toEqual([expect.objectContaining({ route: '/leads/:reference' })])
  await other.send({ url: `/manage${LEAD}/history` })
  expect(lines).toHaveLength(2)
  await other.stop()
})

test('every kind is explained at its type', async () => {
  const page = (await gateway.send({ url: '/problems' })).body
  const { type } = (await gateway.send({ url: '/nowhere' })).json()
  expect(page).toContain(`id="${type.split('#')[1]}"`)
  for (const { meaning, remedy } of Object.values(DOCUMENTED_PROBLEMS))
    for (const text of [meaning, remedy]) expect(page.replace(/<\/?code>/g, '`')).toContain(text)
})

test.each([
  ['GET', '/nowhere'],
  ['POST', '/nowhere'],
  ['PUT', '/leads/x/y/z'],
  ['GET', '/assets/images/..%2f..%2fetc%2fpasswd'],
  ['GET', '/assets/attachments/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'],
] as const)('%s %s is a 404', async (method, url) => {
  const response = await gateway.send({
    method,
    url,
    ...(method !== 'GET' && { payload: 'x', headers: { 'content-type': 'text/xml' } }),
  })
  expect(response.statusCode).toBe(404)
  expect(response.json().type).toBe('/problems#not-found')
})

test.each([
  ['PATCH', '/leads/statuses', 'GET, HEAD'],
  ['DELETE', '/leads/statuses/', 'GET, HEAD'],
  ['PUT', '/leads', 'GET, HEAD, POST'],
  ['DELETE', LEAD, 'GET, HEAD, PATCH'],
  ['PATCH', `${LEAD}/appointments`, 'GET, HEAD, POST'],
  ['DELETE', `${LEAD}/attachments`, 'GET, HEAD, POST'],
  ['POST', '/manage/users/1', 'DELETE, GET, HEAD, PATCH'],
  ['OPTIONS', '/manage/tokens', 'GET, HEAD, POST'],
  ['POST', '/manage/tokens/1', 'DELETE'],
  ['POST', '/healthz', 'GET, HEAD'],
] as const)('%s %s is a 405 with Allow: %s', async (method, url, allow) => {
  const response = await gateway.send({ method, url })
  expect(response.statusCode).toBe(405)
  expect(response.headers.allow).toBe(allow)
})

test('a broken address is a 400', async () => {
  const response = await gateway.send({ url: '/leads/%zz' })
  expect(response.statusCode).toBe(400)
  expect(response.headers['x-request-id']).toBe(response.json().request_id)
})

test('a sane X-Request-Id is taken over, another is not', async () => {
  const fetchRequestId = async (given: string) =>
    (await gateway.send({ url: '/nowhere', headers: { 'x-request-id': given } })).headers['x-request-id']
  expect(await fetchRequestId('abc-123_X')).toBe('abc-123_X')
  expect(await fetchRequestId('a b')).not.toBe('a b')
  expect(await fetchRequestId('x'.repeat(129))).toHaveLength(36)
})

test('HEAD answers like GET without the body', async () => {
  const [get, head] = await Promise.all([
    gateway.send({ url: '/leads/statuses' }),
    gateway.send({ method: 'HEAD', url: '/leads/statuses' }),
  ])
  expect(head.statusCode).toBe(200)
  expect(head.body).toBe('')
  expect(head.headers['content-length']).toBe(get.headers['content-length'])
})
