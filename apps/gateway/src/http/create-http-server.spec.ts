import { once } from 'node:events'
import type { RequestListener, Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { eventually } from '@leadwire/test-kit'
import { createHttpServer } from './create-http-server'

const WRITE_STALL_MS = 300

let server: Server
let sockets: Socket[]

const listen = async (handle: RequestListener, keepAliveTimeout = 60_000) => {
  server = createHttpServer(handle, { writeStallMs: WRITE_STALL_MS, keepAliveTimeout })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}

beforeEach(() => {
  sockets = []
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const countConnections = () => promisify(server.getConnections.bind(server))()

const open = (): Socket => {
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  sockets.push(socket)
  return socket
}

const request = (path: string | number) => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const pipeline = (count: number) => Array.from({ length: count }, (_, index) => request(index)).join('')

/** Collects all data that the server sends on a connection. */
const readText = (socket: Socket) => {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

const isClosed = (socket: Socket) => once(socket.resume(), 'close')

test('a connection has at most 32 requests handled at once, and each gets its response in order', async () => {
  const openResponses: ServerResponse[] = []
  let handled = 0
  await listen((_request, response) => {
    handled += 1
    openResponses.push(response)
  })
  const socket = open()
  const text = readText(socket)
  socket.write(pipeline(1400))
  await eventually(() => expect(handled).toBe(32))
  // The server must serve another client while the first client's requests wait.
  const other = open()
  other.write(request('other'))
  await eventually(() => expect(handled).toBe(33))
  openResponses.pop()!.end('other')
  await eventually(() => {
    for (const response of openResponses.splice(0)) response.end(`<${response.req.url}>`)
    expect(text()).toContain('</1399>')
  })
  const seen = [...text().matchAll(/<\/(\d+)>/g)].map(([, index]) => Number(index))
  expect(seen).toEqual(Array.from({ length: 1400 }, (_, index) => index))
})

test('the connection of a client that reads nothing is closed', async () => {
  let handled = 0
  await listen((_request, response) => {
    handled += 1
    response.end(Buffer.alloc(1024 * 1024))
  })
  const socket = open()
  socket.write(pipeline(200))
  await once(socket, 'readable')
  await eventually(async () => expect(await countConnections()).toBe(0))
  expect(handled).toBeLessThan(64)
})

test('a client that reads slowly gets its whole response', async () => {
  const bytes = 8 * 1024 * 1024
  await listen((_request, response) => void response.end(Buffer.alloc(bytes)))
  const socket = open()
  socket.write(request('large'))
  let received = 0
  let pauses = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received / bytes < pauses / 10) return
    pauses += 1
    socket.pause()
    setTimeout(() => socket.resume(), WRITE_STALL_MS / 3)
  })
  await eventually(() => expect(received).toBeGreaterThan(bytes))
  // Each pause lasts a third of the stall limit, so more than six pauses last longer than two stall limits.
  expect(pauses).toBeGreaterThan(6)
})

test('a response that is not ready yet is waited for', async () => {
  const responses: ServerResponse[] = []
  await listen((_request, response) => void responses.push(response))
  const socket = open()
  const text = readText(socket)
  socket.write(request('poll'))
  await eventually(() => expect(responses).toHaveLength(1))
  // Lets the stall limit of the server pass while the response is not ready.
  await new Promise((resolve) => setTimeout(resolve, WRITE_STALL_MS * 2))
  responses[0]!.end('late')
  await eventually(() => expect(text()).toContain('late'))
})

test('a kept-alive connection is closed when its time is over', async () => {
  await listen((_request, response) => void response.end('once'), 200)
  const socket = open()
  socket.write(request('once'))
  await isClosed(socket)
})
