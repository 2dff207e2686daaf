import { setImmediate } from 'node:timers/promises'
import { startFullServer, startReceiver } from '@leadwire/test-kit'
import { attempter, closeAll, type Resolve, rawServer } from '../delivery/attempt/attempt.fixture'

afterAll(closeAll)

const TWO = ['127.0.0.1', '127.0.0.2']

test('a lost SYN packet is repeated although the other address refuses the connection', async () => {
  const server = await startFullServer()
  try {
    const resolve: Resolve = async () => {
      // Accepts connections only after the first SYN packet was dropped.
      void setImmediate().then(server.accept)
      return TWO
    }
    expect(await attempter({ resolve })(`http://far.example:${server.port}/`)).toMatchObject({ status: 200 })
  } finally {
    await server.stop()
  }
})

test('an address that does not respond does not delay the others', async () => {
  const server = await startFullServer()
  const receiver = await startReceiver({ host: '127.0.0.2', port: server.port })
  try {
    const attempt = attempter({ resolve: async () => TWO })
    expect(await attempt(`http://half-dead.example:${server.port}/`)).toMatchObject({ status: 200 })
  } finally {
    await receiver.stop()
    await server.stop()
  }
})

// Keeps the connection open longer than the client does by default, which is a second.
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=30\r\n\r\n'
/** The response that some servers send before they close an idle connection. */
const IDLE_TIMEOUT = 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

/**
 * Starts a server that responds to the requests of each connection from a list. Closes the connection after a
 * response that is not OK, and at the end of the list.
 */
const scriptedServer = async (script: string[][]) => {
  const counts: number[] = []
  const ids = new Set<string | undefined>()
  const url = await rawServer((socket) => {
    const connection = counts.push(0) - 1
    socket.on('data', (data) => {
      ids.add(/webhook-id: (.*)\r\n/.exec(String(data))?.[1])
      const reply = script[connection]?.[counts[connection]!]
      counts[connection]! += 1
      if (reply === OK) socket.write(reply)
      else socket.end(reply ?? '')
    })
  })
  return { url, counts, ids }
}

test.each([
  ['is sent again on a new one', [[OK], [OK]], { error: null, counts: [2, 1] }],
  ['is sent again once', [[OK], []], { error: 'reset', counts: [2, 1] }],
  ['is sent again after a 408', [[OK, IDLE_TIMEOUT], [OK]], { error: null, counts: [2, 1] }],
  ['is not sent again after a byte', [[OK, 'H'], [OK]], { error: 'reset', counts: [2] }],
])('a request that fails on a reused connection %s', async (_, script, expected) => {
  const { url, counts, ids } = await scriptedServer(script)
  const attempt = attempter()
  expect(await attempt(url)).toMatchObject({ error: null })
  // Waits, because the connection becomes reusable only a moment after the response.
  await setImmediate()
  const { error } = await attempt(url)
  expect({ error, counts }).toEqual(expected)
  expect(ids.size).toBe(1)
})

test('a 408 on a new connection is the response', async () => {
  const { url, counts } = await scriptedServer([[IDLE_TIMEOUT], [OK]])
  expect(await attempter()(url)).toMatchObject({ error: 'http_status', status: 408 })
  expect(counts).toEqual([1])
})

test('a request that fails on a new connection is not sent again', async () => {
  const { url, counts } = await scriptedServer([[], [OK]])
  expect(await attempter()(url)).toMatchObject({ error: 'reset' })
  expect(counts).toEqual([1])
})
