import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { isWebUrl } from '@leadwire/contracts'
import { createSealer } from '@leadwire/service-kit'
import { type Receiver, startReceiver } from '@leadwire/test-kit'
import { makeAttempt } from '../delivery/attempt/make-attempt'
import { sealedFor } from '../service.fixture'
import { PUBLIC, REFUSED_URLS, REFUSED_V4, REFUSED_V6, UNFIT_URLS } from './address-vectors.fixture'
import { createEgressGuard } from './egress-guard'
import { createGuardedDispatcher } from './guarded-dispatcher'
import { createResolver, knownAddresses, type ResolveHost } from './resolve-host'

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

const resolveTo =
  (...addresses: string[]): ResolveHost =>
  async () =>
    knownAddresses(addresses)

const client = (options: { allow?: string[]; resolve?: ResolveHost } = {}) => {
  const dispatcher = createGuardedDispatcher({
    guard: createEgressGuard(options.allow ?? []),
    connectMs: 60_000,
    resolve: options.resolve ?? createResolver({ limitMs: 48_000 }),
  })
  dispatchers.push(dispatcher)
  const delivery = {
    accountId: 1,
    sealedSecrets: sealedFor(1),
    eventId: '8f14e45f-ceea-467f-a9c5-3c1f4d2b6a10',
    accountKey: 'key',
    sequence: 1,
    leadVersion: 1,
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

test('the corpus has the expected size', () => {
  expect(refused.length + allowed.length + REFUSED_URLS.length + UNFIT_URLS.length).toBeGreaterThan(250)
})

test.each(refused)('refused address: %s, %s', (_, address) => {
  expect(guard('example.com', address!)).toBe(false)
})

test.each(allowed)('public address: %s', (address) => {
  expect(guard('example.com', address)).toBe(true)
})

test.each(REFUSED_URLS)('nothing is sent to %s', async (url) => {
  const { status, error } = await client()(url.replace('PORT', String(receiver.port)))
  // Only some machines resolve `localhost.`.
  expect(error).toMatch(url.includes('localhost.') ? /^(blocked|dns)$/ : /^blocked$/)
  expect(status).toBeNull()
  expect(receiver.requests).toHaveLength(0)
})

test.each(UNFIT_URLS)('%j is not a URL for webhooks', (url) => {
  expect(isWebUrl(url)).toBe(false)
})

test.each(
  refused.filter(([, address]) => !address!.includes('%')),
)('a name that resolves to %s, %s, is blocked before any packet is sent', async (_, address) => {
  const attempt = client({ resolve: resolveTo(address!) })
  expect(await attempt(`http://rebinding.example:${receiver.port}/`)).toMatchObject({ error: 'blocked' })
})

test('a name that later resolves to a private address is checked for each connection', async () => {
  const replies = [['192.0.3.1'], ['127.0.0.1'], ['10.0.0.1', '::1'], ['169.254.169.254']]
  let queries = 0
  const attempt = client({ resolve: (host) => resolveTo(...replies[queries++]!)(host) })
  const outcomes = []
  for (let index = 0; index < replies.length; index += 1)
    outcomes.push((await attempt(`http://rebinding.example:${receiver.port}/`)).error)
  // The first attempt is allowed. Its IP address does not respond here.
  expect(outcomes[0]).not.toBe('blocked')
  expect(outcomes.slice(1)).toEqual(['blocked', 'blocked', 'blocked'])
  expect([queries, receiver.requests.length]).toEqual([4, 0])
})

test('only the public addresses of a name are connected to', async () => {
  const attempt = client({ resolve: resolveTo('127.0.0.1', '192.0.3.1', '::1', '10.0.0.1') })
  expect((await attempt(`http://mixed.example:${receiver.port}/`)).error).not.toBeNull()
  expect(receiver.requests).toHaveLength(0)
  const allowing = client({ allow: ['127.0.0.1'], resolve: resolveTo('10.0.0.1', '127.0.0.1', '::1') })
  expect(await allowing(`http://mixed.example:${receiver.port}/`)).toMatchObject({ error: null })
})

test.each([
  301, 302, 303, 307, 308,
])('a %i to a private address is the response and is not followed', async (status) => {
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

test('a reused connection stays with the checked address when DNS changes', async () => {
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
    let reply = '127.0.0.1'
    const attempt = client({ allow: ['127.0.0.1'], resolve: (host) => resolveTo(reply)(host) })
    const url = `http://moving.example:${(server.address() as AddressInfo).port}/`
    expect(await attempt(url)).toMatchObject({ error: null })
    reply = '10.0.0.1'
    // Waits, because the connection becomes reusable only a moment after the response.
    await setImmediate()
    expect(await attempt(url)).toMatchObject({ error: null })
    expect([requests, sockets.size]).toEqual([2, 1])
    for (const socket of sockets) socket.destroy()
    // After the cut, this first request may fail. The next request opens a new connection, which the guard
    // checks again.
    await attempt(url)
    expect(await attempt(url)).toMatchObject({ error: 'blocked' })
    expect(requests).toBe(2)
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
})

test('a name never uses the connection of another name with the same address', async () => {
  const attempt = client({ allow: ['allowed.example'], resolve: resolveTo('127.0.0.1') })
  expect(await attempt(`http://allowed.example:${receiver.port}/`)).toMatchObject({ error: null })
  expect(await attempt(`http://other.example:${receiver.port}/`)).toMatchObject({ error: 'blocked' })
  expect(receiver.requests).toHaveLength(1)
})
