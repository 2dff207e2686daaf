import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import {
  type ConnectProxy,
  createAuthority,
  eventually,
  type Receiver,
  startConnectProxy,
  startReceiver,
} from '@leadwire/test-kit'
import { attemptAt, attempter, closeAll, type Resolve, rawServer } from '../delivery/attempt/attempt.fixture'

let proxy: ConnectProxy
let receiver: Receiver
beforeEach(async () => {
  ;[proxy, receiver] = await Promise.all([startConnectProxy(), startReceiver()])
})
afterEach(() => Promise.all([proxy.stop(), receiver.stop()]))
afterAll(closeAll)

const leadsTo =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses

const nowhere = 'http://hooks.example:9/'
// Keeps the connection open longer than the client does by default, which is a second.
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=30\r\n\r\n'

test('the proxy gets the checked address, and the receiver gets the host name of the URL', async () => {
  const resolve = leadsTo('10.0.0.1', '127.0.0.1')
  const url = `http://hooks.example:${receiver.port}/`
  expect(await attemptAt(url, { proxy: proxy.url, resolve })).toMatchObject({ status: 200, error: null })
  expect(proxy.targets).toEqual([`127.0.0.1:${receiver.port}`])
  expect(receiver.requests[0]!.headers).toMatchObject({ host: `hooks.example:${receiver.port}` })
  expect(receiver.requests[0]!.headers).not.toHaveProperty('proxy-authorization')
})

test.each(['10.0.0.1', '169.254.169.254', '::1'])('the proxy gets no request for %s', async (address) => {
  const outcome = await attemptAt(nowhere, { proxy: proxy.url, resolve: leadsTo(address) })
  expect(outcome).toMatchObject({ status: null, error: 'blocked' })
  expect(proxy.targets).toEqual([])
})

test('an IPv6 address is in brackets, and does not delay other addresses if it does not respond', async () => {
  proxy.answerWith((target) => (target.startsWith('[') ? 'hang' : 'tunnel'))
  receiver.answerWith({ status: 200, headers: { connection: 'close' } })
  const options = { allow: ['::1', '127.0.0.1'], resolve: leadsTo('::1', '127.0.0.1') }
  const url = `http://hooks.example:${receiver.port}/`
  expect(await attemptAt(url, { proxy: proxy.url, ...options })).toMatchObject({ status: 200 })
  expect(proxy.targets).toEqual([`[::1]:${receiver.port}`, `127.0.0.1:${receiver.port}`])
  // The receiver closes its tunnel, and the client closes the connection that hangs.
  await eventually(() => expect(proxy.open.size).toBe(0))
})

test('the certificate of the receiver is checked against the host name of the URL', async () => {
  const names: (string | null)[] = []
  const server = createServer({
    ...(await (await createAuthority()).issue('receiver', { isSelfSigned: true })),
    SNICallback: (name, done) => {
      names.push(name)
      done(null)
    },
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const url = `https://hooks.example:${(server.address() as AddressInfo).port}/`
    const outcome = await attemptAt(url, { proxy: proxy.url, resolve: leadsTo('127.0.0.1') })
    expect(outcome).toMatchObject({ error: 'tls', reason: 'The certificate is self-signed.' })
    expect([names, proxy.targets.length]).toEqual([['hooks.example'], 1])
  } finally {
    server.close()
  }
})

test('credentials are sent, and are not in the outcome if they are wrong', async () => {
  const guarded = await startConnectProxy({ credentials: 'leadwire:s3cret%40' })
  try {
    expect(await attemptAt(receiver.url, { proxy: guarded.url })).toMatchObject({ status: 200 })
    const outcome = await attemptAt(receiver.url, { proxy: guarded.url.replace('s3cret', 'pa55word') })
    expect(outcome).toMatchObject({ error: 'proxy', reason: 'The proxy responded to CONNECT with 407.' })
    expect(String((outcome.cause as Error).stack)).not.toContain('pa55word')
    expect(receiver.requests).toHaveLength(1)
  } finally {
    await guarded.stop()
  }
})

test.each([403, 407, 502, 503, 301])('the proxy responds with %i', async (status) => {
  proxy.answerWith(status)
  expect(await attemptAt(receiver.url, { proxy: proxy.url })).toMatchObject({
    status: null,
    response: null,
    error: 'proxy',
    reason: `The proxy responded to CONNECT with ${status}.`,
  })
  await eventually(() => expect(proxy.open.size).toBe(0))
})

test('the proxy cannot be reached', async () => {
  const gone = await startConnectProxy()
  await gone.stop()
  const closes = await rawServer((socket) => socket.once('data', () => socket.destroy()))
  const speaksAnother = await rawServer((socket) => socket.once('data', () => socket.end('SSH-2.0-x\r\n')))
  for (const [url, code] of [
    [gone.url, 'ECONNREFUSED'],
    [closes, 'ECONNRESET'],
    [speaksAnother, 'HPE_INVALID_CONSTANT'],
    [proxy.url.replace('http:', 'https:'), 'EPROTO'],
    ['http://no-such-name.invalid/', 'ENOTFOUND'],
  ] as const)
    expect(await attemptAt(receiver.url, { proxy: url })).toMatchObject({
      status: null,
      error: 'proxy',
      reason: expect.stringContaining(`The connection to the proxy failed: ${code}`),
    })
})

test('a proxy that does not respond is a timeout, and its connection is closed', async () => {
  proxy.answerWith('hang')
  expect(await attemptAt(receiver.url, { proxy: proxy.url, timeoutMs: 500 })).toMatchObject({
    status: null,
    error: 'timeout',
    reason: 'The proxy did not open a connection in time.',
  })
  await eventually(() => expect(proxy.open.size).toBe(0))
})

test('a receiver that does not respond is a timeout, and not an error of the proxy', async () => {
  // Responds only to the first request, so that the second request starts on an open tunnel.
  let requests = 0
  const url = await rawServer((socket) =>
    socket.on('data', () => {
      requests += 1
      if (requests === 1) socket.write(OK)
    }),
  )
  const attempt = attempter({ proxy: proxy.url })
  expect(await attempt(url)).toMatchObject({ status: 200 })
  // Waits, because the connection becomes reusable only a moment after the response.
  await setImmediate()
  const outcome = await attempt(url, 500)
  expect(outcome).toMatchObject({ status: null, error: 'timeout' })
  expect(outcome.reason).toBeUndefined()
})

test('a tunnel is reused, and a request that fails on a reused tunnel is sent again on a new one', async () => {
  let connections = 0
  const url = await rawServer((socket) => {
    let requests = 0
    connections += 1
    socket.on('data', () => {
      requests += 1
      if (requests < 3) socket.write(OK)
      else socket.end()
    })
  })
  const attempt = attempter({ proxy: proxy.url })
  for (const tunnels of [1, 1, 2]) {
    expect(await attempt(url)).toMatchObject({ status: 200, error: null })
    expect([proxy.targets.length, connections]).toEqual([tunnels, tunnels])
    // Waits, because the connection becomes reusable only a moment after the response.
    await setImmediate()
  }
})
