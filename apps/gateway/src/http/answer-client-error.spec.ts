import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type RunningGateway, startGateway } from '../gateway.fixture'

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
