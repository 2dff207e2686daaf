import type { Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { attemptAt, closeAll, type Resolve, rawServer } from './attempt.fixture'
import { classifyFailure } from './make-attempt'

const TIMEOUT_MS = 500

let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
})
beforeEach(() => {
  receiver.clear()
  receiver.answerWith({ status: 200 })
})
afterAll(async () => {
  await closeAll()
  await receiver.stop()
})

test('an attempt has the headers of the interface with their exact names, and those of Standard Webhooks', async () => {
  expect(await attemptAt(`${receiver.url}?a=1#part`)).toMatchObject({
    status: 200,
    error: null,
    response: null,
  })
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', url: '/hooks/leads?a=1' })
  expect(request!.body.toString()).toBe('{"data":{}}')
  const names = request!.rawHeaders.filter((_, index) => index % 2 === 0)
  expect(names).toEqual(
    expect.arrayContaining(['Content-Type', 'User-Agent', 'X-SERVICE-Signature', 'X-SERVICE-Account-Key']),
  )
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^Leadwire\/\d+\.\d+\.\d+$/),
    'x-service-signature': expect.stringMatching(/^[0-9a-f]{40}$/),
    'x-service-account-key': 'the-key',
    'webhook-id': '8f14e45f-ceea-467f-a9c5-3c1f4d2b6a10',
    'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    'webhook-sequence': '12',
    'webhook-lead-version': '3',
    traceparent: expect.stringMatching(
      /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
    ),
  })
})

test.each([200, 201, 204, 299])('a %i is a success', async (status) => {
  receiver.answerWith({ status })
  expect(await attemptAt(receiver.url)).toMatchObject({ status, error: null })
})

test.each([300, 304, 400, 410, 429, 500, 503])('a %i is a failure', async (status) => {
  receiver.answerWith({ status })
  expect(await attemptAt(receiver.url)).toMatchObject({ status, error: 'http_status' })
})

test('a redirect is not followed', async () => {
  receiver.answerWith({ status: 307, headers: { location: receiver.url } })
  expect(await attemptAt(receiver.url)).toMatchObject({ status: 307, error: 'http_status' })
  expect(receiver.requests).toHaveLength(1)
})

test('the first 4 KiB of a response are kept as text that PostgreSQL accepts', async () => {
  receiver.answerWith({ status: 200, body: Buffer.from(`a\0\xff${'é'.repeat(4000)}`, 'utf8') })
  const { response } = await attemptAt(receiver.url)
  expect(response).toBe(`aÿ${'é'.repeat(2046)}`)
  receiver.answerWith({ status: 200, body: Buffer.from([0x61, 0xff, 0x62]) })
  expect(await attemptAt(receiver.url)).toMatchObject({ response: 'a\ufffdb' })
})

test('an endless response counts with its status and is not read to its end', async () => {
  let written = 0
  const url = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const flood = () => {
      while (!socket.destroyed && socket.write(chunk)) written += 65_536
    }
    socket.on('drain', flood)
    flood()
  })
  expect(await attemptAt(url)).toMatchObject({ status: 200, error: null, response: 'x'.repeat(4096) })
  expect(written).toBeLessThan(32 * 1024 * 1024)
})

const TEXT = 'Ungültige Adresse: "Łódź"\n'.repeat(3)

test.each<[string, Record<string, string>, Buffer, string]>([
  ['gzip', { 'content-encoding': 'gzip' }, gzipSync(TEXT), TEXT],
  ['gzip in capitals', { 'content-encoding': 'X-GZIP' }, gzipSync(TEXT), TEXT],
  ['deflate', { 'content-encoding': 'deflate' }, deflateSync(TEXT), TEXT],
  ['deflate without a header', { 'content-encoding': 'deflate' }, deflateRawSync(TEXT), TEXT],
  ['brotli', { 'content-encoding': 'br' }, brotliCompressSync(TEXT), TEXT],
  ['two codings', { 'content-encoding': 'deflate, gzip' }, gzipSync(deflateSync(TEXT)), TEXT],
  ['a coding that is not the one it names', { 'content-encoding': 'gzip' }, Buffer.from(TEXT), TEXT],
  ['an unknown coding', { 'content-encoding': 'identity' }, Buffer.from(TEXT), TEXT],
  [
    'Windows-1252',
    { 'content-type': 'text/html; charset=ISO-8859-1' },
    Buffer.from([0x93, 0xe9, 0x94]),
    '“é”',
  ],
  ['UTF-16', { 'content-type': 'text/plain;charset="utf-16le"' }, Buffer.from('Łódź', 'utf16le'), 'Łódź'],
  ['an unknown charset', { 'content-type': 'text/plain; charset=x-ours' }, Buffer.from('Łódź'), 'Łódź'],
  [
    '4 KiB of 10 MiB',
    { 'content-encoding': 'gzip' },
    gzipSync(Buffer.alloc(10_485_760, 'a')),
    'a'.repeat(4096),
  ],
  [
    'whole characters',
    { 'content-encoding': 'br' },
    brotliCompressSync(`a${'é'.repeat(5000)}`),
    `a${'é'.repeat(2047)}`,
  ],
])('the body of a failure is kept as text: %s', async (_, headers, body, response) => {
  receiver.answerWith({ status: 500, headers, body })
  expect(await attemptAt(receiver.url)).toMatchObject({ status: 500, response })
})

test('a response whose body does not end in time is a timeout', async () => {
  const url = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nstill')
    const drip = setInterval(() => socket.write('.'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  // Long enough that the status arrives in time.
  const timeoutMs = 3000
  const outcome = await attemptAt(url, { timeoutMs })
  expect(outcome).toMatchObject({
    status: 200,
    error: 'timeout',
    response: expect.stringMatching(/^still\.+$/),
  })
  expect(outcome.durationMs).toBeGreaterThanOrEqual(timeoutMs - 2)
})

test('no response is a timeout, and the connection is closed', async () => {
  let closed = false
  const url = await rawServer((socket) => {
    socket.on('close', () => {
      closed = true
    })
    socket.resume()
  })
  expect(await attemptAt(url, { timeoutMs: TIMEOUT_MS })).toMatchObject({ status: null, error: 'timeout' })
  await eventually(() => expect(closed).toBe(true))
})

test.each([
  ['reset', (socket: Socket) => socket.on('data', () => socket.destroy())],
  ['protocol', (socket: Socket) => socket.on('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))],
])('the error of a broken connection: %s', async (error, onConnection) => {
  expect(await attemptAt(await rawServer(onConnection))).toMatchObject({ error })
})

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

test.each([
  ['a body that a 204 has not', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 204, null],
  ['a body that a 304 has not', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok', 304, null],
  ['half a body', 'HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\nhalf', 500, 'half'],
  ['a malformed chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 200, null],
  ['line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', 200, null],
  ['a line feed alone, later', 'HTTP/1.1 201 Created\r\nA: b\nContent-Length: 2\r\n\r\nok', 201, null],
  ['a folded header line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok', 200, null],
  ['a header line without a name', 'HTTP/1.1 503 Busy\r\nbusy\r\n\r\n', 503, null],
  ['too large a header', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`, 200, null],
  ['half a header', 'HTTP/1.1 200 OK\r\nContent-', 200, null],
  ['100 before it', `HTTP/1.1 100 Continue\r\n\r\n${OK}`, 200, 'ok'],
  [
    '100 twice and 103 before it',
    `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)}HTTP/1.1 103 Early Hints\r\n\r\n${OK}`,
    200,
    'ok',
  ],
  ['100 before line feeds alone', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\n\n', 404, null],
])('the status of a malformed response counts: %s', async (_, reply, status, response) => {
  const url = await rawServer((socket) => socket.on('data', () => socket.end(reply)))
  const error = status < 300 ? null : 'http_status'
  expect(await attemptAt(url)).toMatchObject({ status, error, response })
})

test('a response after a 100 is read like any other', async () => {
  const url = await rawServer((socket) =>
    socket.on('data', () => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n', () => socket.write(OK))
    }),
  )
  expect(await attemptAt(url)).toMatchObject({ status: 200, error: null, response: 'ok' })
})

test('errors of a refused connection, an unknown name and a failed TLS handshake', async () => {
  const gone = await startReceiver()
  await gone.stop()
  expect(await attemptAt(gone.url)).toMatchObject({ status: null, error: 'refused' })
  expect(await attemptAt('http://no-such-name.invalid/')).toMatchObject({ error: 'dns' })
  expect(await attemptAt(receiver.url.replace('http:', 'https:'))).toMatchObject({ error: 'tls' })
})

test.each([
  // Node.js has no code for a violated name constraint, so it reports UNSPECIFIED.
  { code: 'UNSPECIFIED', message: 'permitted subtree violation' },
  { code: 'PATH_LENGTH_EXCEEDED' },
  { code: 'ERROR_IN_CERT_NOT_BEFORE_FIELD' },
  { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' },
])('a refused certificate is a TLS error: $code', (error) => {
  expect(classifyFailure(error)).toBe('tls')
})

test('EADDRNOTAVAIL means no IPv6 for an IPv6 address, and an internal error otherwise', () => {
  const classes = ['2001:db8::1', '192.0.2.1'].map((address) =>
    classifyFailure({ code: 'EADDRNOTAVAIL', address }),
  )
  expect(classes).toEqual(['unreachable', 'internal'])
})

test.each([
  'http://127.0.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::1]:PORT/',
  'http://0.0.0.0:PORT/',
  'http://localhost:PORT/',
])('nothing is sent to %s if it is not allowed', async (url) => {
  expect(await attemptAt(url.replace('PORT', String(receiver.port)), { allow: [] })).toMatchObject({
    status: null,
    error: 'blocked',
  })
  expect(receiver.requests).toHaveLength(0)
})

test('the address is checked at each connection, and the connection goes to the checked address', async () => {
  const replies = [['127.0.0.1'], ['10.0.0.1'], ['10.0.0.1', '127.0.0.1']]
  let queries = 0
  const resolve: Resolve = async () => replies[queries++]!
  const url = `http://rebinding.example:${receiver.port}/`
  expect(await attemptAt(url, { resolve })).toMatchObject({ error: null })
  expect(await attemptAt(url, { resolve })).toMatchObject({ error: 'blocked' })
  expect(await attemptAt(url, { resolve })).toMatchObject({ error: null })
  expect(queries).toBe(3)
})

test('an allowed name may resolve to any address', async () => {
  const resolve: Resolve = async () => ['127.0.0.1']
  const url = `http://hooks.internal:${receiver.port}/`
  expect(await attemptAt(url, { allow: ['hooks.internal'], resolve })).toMatchObject({ error: null })
})
