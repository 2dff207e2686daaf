import { setImmediate } from 'node:timers/promises'
import { startFullServer, startReceiver } from '@leadwire/test-kit'
import { attempter, closeAll, type Resolve, rawServer } from '../attempt/attempt.fixture'

afterAll(closeAll)

const TWO = ['127.0.0.1', '127.0.0.2']

test('a lost SYN is sent again, although the other address refuses', async () => {
  const server = await startFullServer()
  try {
    const resolve: Resolve = async () => {
      // By then the first SYN was dropped.
      void setImmediate().then(server.accept)
      return TWO
    }
    expect(await attempter({ resolve })(`http://far.example:${server.port}/`)).toMatchObject({ status: 200 })
  } finally {
    await server.stop()
  }
})

test('an address that stays silent holds up no other one', async () => {
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

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

/** Answers each connection's requests from its list. Closes a connection after an answer that is not OK, and without an answer at the list's end. */
const scriptedServer = async (script: string[][]) => {
  const counts: number[] = []
  const ids = new Set<string | undefined>()
  const url = await rawServer((socket) => {
    const connection = counts.push(0) - 1
    socket.on('data', (data) => {
      ids.add(/webhook-id: (.*)\r\n/.exec(String(data))?.[1])
      const answer = script[connection]?.[counts[connection]!]
      counts[connection]! += 1
      if (answer === OK) socket.write(answer)
      else socket.end(answer ?? '')
    })
  })
  return { url, counts, ids }
}

test.each([
  ['is sent again on a new one', [[OK], [OK]], { error: null, counts: [2, 1] }],
  ['is sent again once', [[OK], []], { error: 'reset', counts: [2, 1] }],
  ['is not sent again after a byte', [[OK, 'H'], [OK]], { error: 'reset', counts: [2] }],
])('a request that fails on a kept connection %s', async (_, script, expected) => {
  const { url, counts, ids } = await scriptedServer(script)
  const attempt = attempter()
  expect(await attempt(url)).toMatchObject({ error: null })
  // The connection is free a moment after the answer.
  await setImmediate()
  const { error } = await attempt(url)
  expect({ error, counts }).toEqual(expected)
  expect(ids.size).toBe(1)
})

test('a request that fails on a new connection is not sent again', async () => {
  const { url, counts } = await scriptedServer([[], [OK]])
  expect(await attempter()(url)).toMatchObject({ error: 'reset' })
  expect(counts).toEqual([1])
})
