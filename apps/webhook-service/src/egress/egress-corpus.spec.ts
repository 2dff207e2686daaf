import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { createSealer } from '@leadwire/service-kit'
import { type Receiver, startReceiver } from '@leadwire/test-kit'
import { makeAttempt } from '../attempt/make-attempt'
import { urlViolation } from '../endpoints/endpoint-row'
import { sealedFor } from '../service.fixture'
import { PUBLIC, REFUSED_URLS, REFUSED_V4, REFUSED_V6, UNFIT_URLS } from './address-vectors.fixture'
import { createEgressGuard } from './egress-guard'
import { createGuardedDispatcher } from './guarded-dispatcher'

const guard = createEgressGuard([])
const ranges = [...REFUSED_V4, ...REFUSED_V6]
const refused = ranges.flatMap(({ what, first, last, inside = [] }) =>
  [...new Set([first, ...inside, last])].map((address) => [what, address]),
)
const allowed = [...PUBLIC, ...ranges.flatMap(({ publicBeside = [] }) => publicBeside)]

let receiver: Receiver
const dispatchers: { destroy(): Promise<void> }[] = []
beforeAll(async () => {
  receiver = await startReceiver()
})
beforeEach(() => {
  receiver.clear()
  receiver.answerWith({ status: 200 })
})
afterAll(async () => {
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()))
  await receiver.stop()
})

type Resolve = NonNullable<Parameters<typeof createGuardedDispatcher>[0]['resolve']>
const resolveTo =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses

const client = (options: { allow?: string[]; resolve?: Resolve } = {}) => {
  const dispatcher = createGuardedDispatcher({
    guard: createEgressGuard(options.allow ?? []),
    connectMs: 60_000,
    ...(options.resolve ? { resolve: options.resolve } : {}),
  })
  dispatchers.push(dispatcher)
  const delivery = {
    ...{ accountId: 1, sealedSecrets: sealedFor(1) },
    eventId: '8f14e45f-ceea-467f-a9c5-3c1f4d2b6a10',
    ...{ accountKey: 'key', sequence: 1, leadVersion: 1 },
    body: Buffer.from('{}'),
    traceparent: null,
  }
  const sealer = createSealer([Buffer.alloc(32, 7)])
  return (url: string) =>
    makeAttempt(
      { ...delivery, url },
      { dispatcher, sealer, timeoutMs: 60_000, clock: { now: () => new Date() } },
    )
}

test('the corpus is as large as it claims', () => {
  expect(refused.length + allowed.length + REFUSED_URLS.length + UNFIT_URLS.length).toBeGreaterThan(250)
})

test.each(refused)('refused as an address: %s, %s', (_, address) => {
  expect(guard('example.com', address!)).toBe(false)
})

test.each(allowed)('public: %s', (address) => {
  expect(guard('example.com', address)).toBe(true)
})

test.each(REFUSED_URLS)('nothing is sent to %s', async (url) => {
  const { status, error } = await client()(url.replace('PORT', String(receiver.port)))
  // Whether there is such a name as `localhost.` is for the machine to say.
  expect(error).toMatch(url.includes('localhost.') ? /^(blocked|dns)$/ : /^blocked$/)
  expect(status).toBeNull()
  expect(receiver.requests).toHaveLength(0)
})

test.each(UNFIT_URLS)('%j is no address for webhooks', (url) => {
  expect(urlViolation(url)).toBeDefined()
})

test.each(
  refused.filter(([, address]) => !address!.includes('%')),
)('a name that leads to %s, %s, is blocked before any packet', async (_, address) => {
  const attempt = client({ resolve: resolveTo(address!) })
  expect(await attempt(`http://rebinding.example:${receiver.port}/`)).toMatchObject({ error: 'blocked' })
})

test('a name that resolves to a public address first, and to a private one later, is checked each time', async () => {
  const answers = [['192.0.3.1'], ['127.0.0.1'], ['10.0.0.1', '::1'], ['169.254.169.254']]
  let asked = 0
  const attempt = client({ resolve: (host) => resolveTo(...answers[asked++]!)(host) })
  const outcomes = []
  for (let index = 0; index < answers.length; index += 1)
    outcomes.push((await attempt(`http://rebinding.example:${receiver.port}/`)).error)
  // The first is let through, to an address that does not answer here.
  expect(outcomes[0]).not.toBe('blocked')
  expect(outcomes.slice(1)).toEqual(['blocked', 'blocked', 'blocked'])
  expect([asked, receiver.requests.length]).toEqual([4, 0])
})

test('of mixed addresses only the public ones are connected to', async () => {
  const attempt = client({ resolve: resolveTo('127.0.0.1', '192.0.3.1', '::1', '10.0.0.1') })
  expect((await attempt(`http://mixed.example:${receiver.port}/`)).error).not.toBeNull()
  expect(receiver.requests).toHaveLength(0)
  const allowing = client({ allow: ['127.0.0.1'], resolve: resolveTo('10.0.0.1', '127.0.0.1', '::1') })
  expect(await allowing(`http://mixed.example:${receiver.port}/`)).toMatchObject({ error: null })
})

test.each([
  301, 302, 303, 307, 308,
])('a %i to a private address is an answer, and not followed', async (status) => {
  const target = await startReceiver()
  receiver.answerWith({ status, headers: { location: target.url, refresh: `0; url=${target.url}` } })
  const attempt = client({ allow: ['hooks.example'], resolve: resolveTo('127.0.0.1') })
  expect(await attempt(`http://hooks.example:${receiver.port}/`)).toMatchObject({
    status,
    error: 'http_status',
  })
  expect([receiver.requests.length, target.requests.length]).toEqual([1, 0])
  await target.stop()
})

test('a connection that is used again leads where it was checked to lead, whatever DNS says meanwhile', async () => {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      if (!data.includes('POST')) return
      requests += 1
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=30\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    let answer = '127.0.0.1'
    const attempt = client({ allow: ['127.0.0.1'], resolve: (host) => resolveTo(answer)(host) })
    const url = `http://moving.example:${(server.address() as AddressInfo).port}/`
    expect(await attempt(url)).toMatchObject({ error: null })
    answer = '10.0.0.1'
    // The connection is free a moment after the answer.
    await setImmediate()
    expect(await attempt(url)).toMatchObject({ error: null })
    expect([requests, sockets.size]).toEqual([2, 1])
    for (const socket of sockets) socket.destroy()
    // The first after the cut may meet it; then a new connection is checked again.
    await attempt(url)
    expect(await attempt(url)).toMatchObject({ error: 'blocked' })
    expect(requests).toBe(2)
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
})

test('one name never uses the connection of another that leads to the same place', async () => {
  const attempt = client({ allow: ['allowed.example'], resolve: resolveTo('127.0.0.1') })
  expect(await attempt(`http://allowed.example:${receiver.port}/`)).toMatchObject({ error: null })
  expect(await attempt(`http://other.example:${receiver.port}/`)).toMatchObject({ error: 'blocked' })
  expect(receiver.requests).toHaveLength(1)
})
