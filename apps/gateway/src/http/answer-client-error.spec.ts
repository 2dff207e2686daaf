import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

let gateway: RunningGateway
let port: number
beforeAll(async () => {
  gateway = await startGateway()
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  port = (gateway.app.server.address() as AddressInfo).port
})
afterAll(() => gateway.stop())

const exchange = async (text: string) => {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk
  })
  socket.end(text)
  await once(socket, 'close')
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, problem: JSON.parse(body) }
}

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a malformed header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400],
  ['two Hosts', 'GET /leads HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n', 400],
  [
    'two tokens',
    'GET /leads HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nAuthorization: Bearer read\r\nConnection: close\r\n\r\n',
    400,
  ],
  ['no Host', 'GET /leads HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['two lengths', 'POST /leads HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 400],
  ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
])('%s is answered with a problem', async (_name, text, status) => {
  const answer = await exchange(text)
  expect(answer.status).toBe(status)
  expect(answer.head.toLowerCase()).toContain('content-type: application/problem+json')
  expect(answer.problem).toMatchObject({ status, request_id: expect.any(String) })
})

test('HTTP/1.0 needs no Host', async () => {
  expect((await exchange('GET /nowhere HTTP/1.0\r\n\r\n')).status).toBe(404)
})

test.each(['QUERY', 'SEARCH', 'LOCK'])('%s is a 405 that says what goes', async (method) => {
  const answer = await exchange(`${method} /leads HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  expect(answer.status).toBe(405)
  expect(answer.head).toMatch(/^allow: GET, HEAD, POST$/im)
})

test.each([
  ['the request', { requestTimeoutMs: 300 }],
  ['the answer', { requestLimitMs: 300 }],
])('a body that does not arrive in the time for %s is a 408, and is not done when it comes', async (_of, limits) => {
  const updateLead = jest.fn(async () => ({ body: Buffer.from('{}') }))
  const slow = await startGateway({ leads: { updateLead } }, limits)
  await slow.app.listen({ host: '127.0.0.1', port: 0 })
  const { port: slowPort } = slow.app.server.address() as AddressInfo
  const gone = once(slow.app.server, 'connection').then(([accepted]: Socket[]) => once(accepted!, 'close'))
  // Ignores an error, because the server may have closed the connection before the rest of the body is sent.
  const socket = connect({ port: slowPort, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  const head = `PATCH /leads/${REFERENCE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n`
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{`)
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk
  })
  await eventually(() => expect(answer).toContain('}'))
  socket.end('}')
  await gone
  socket.destroy()
  await slow.stop()
  expect(updateLead).not.toHaveBeenCalled()
  expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
  expect(answer).toMatch(/^content-type: application\/problem\+json/m)
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ status: 408, title: 'Request Timeout' })
})
