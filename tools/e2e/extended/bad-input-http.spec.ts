import { createConnection } from 'node:net'
import { createLead } from './bad-input/operations.fixture'
import { expectProblem, expectRefusal } from './bad-input/problem.fixture'
import { abandon, exchange, type Piece } from './bad-input/raw-http'
import { startWorld, type Traces, type World } from './bad-input/world.fixture'

let world: World
let before: Traces
let stalled: ReturnType<typeof exchange>
beforeAll(async () => {
  world = await startWorld()
  before = await world.traces()
  // The server refuses this request before the body arrives. The client never sends the rest of the body, so
  // the server must close the connection itself.
  const endless = 'POST /leads HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nhalf'
  stalled = exchange(world.baseUrl, endless, { count: 2 })
})
afterAll(() => world.stop())

const say = (pieces: Piece | Piece[], options?: Parameters<typeof exchange>[2]) =>
  exchange(world.baseUrl, pieces, options)

/** Renders an HTTP request. Adds the Host header and the account's token to `headers`. */
const request = (line: string, headers: string[] = [], body = ''): string =>
  [
    `${line} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${world.system.token}`,
    ...headers,
    '',
    body,
  ].join('\r\n')

const json = () => JSON.stringify(createLead.body(world))

const get = () => request('GET /leads/statuses')

describe('invalid HTTP is refused', () => {
  test.each<[string, string]>([
    ['a line without a version', 'GET /leads'],
    ['two words', 'GET HTTP/1.1'],
    ['another protocol', 'GET /leads FTP/1.1'],
    ['a future version', 'GET /leads HTTP/3.7'],
    ['an unknown method', 'BREW /leads HTTP/1.1'],
    ['a method in lower case', 'get /leads HTTP/1.1'],
    ['a space in the address', 'GET /le ads HTTP/1.1'],
    ['a control character in the address', 'GET /le\x01ads HTTP/1.1'],
    ['a NUL in the address', 'GET /le\0ads HTTP/1.1'],
    ['binary data', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM'],
    ['an empty method', ' /leads HTTP/1.1'],
  ])('%s', async (_what, line) => {
    const { answers, closed } = await say(`${line}\r\nHost: x\r\n\r\n`)
    expect(answers).toHaveLength(1)
    expectProblem(answers[0]!, 400)
    expect(answers[0]!.headers['connection']).toBe('close')
    expect(closed).toBe(true)
  })

  test.each<[string, string[]]>([
    ['a header without a colon', ['Nonsense']],
    ['a header with a space in its name', ['X A: b']],
    ['a header with a space before its colon', ['X-A : b']],
    ['a header with a NUL', ['X-A: a\0b']],
    ['a header with a control character', ['X-A: a\x01b']],
    ['a header folded over lines', ['X-A: a', ' b']],
    ['a bare carriage return', ['X-A: a\rX-B: b']],
    ['two hosts', ['Host: other']],
    ['a length that is not a number', ['Content-Length: x']],
    ['a negative length', ['Content-Length: -1']],
    ['a length with a sign', ['Content-Length: +5']],
    ['a length in hexadecimal', ['Content-Length: 0x5']],
    ['a length that no number can hold', ['Content-Length: 99999999999999999999999']],
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a list of lengths', ['Content-Length: 5, 6']],
    ['both a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['both chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 5']],
    ['an unknown coding', ['Transfer-Encoding: nonsense']],
    ['a coding after chunks', ['Transfer-Encoding: chunked, identity']],
    ['chunks twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['chunks in disguise', ['Transfer-Encoding: xchunked']],
    ['chunks behind a tab', ['Transfer-Encoding:\x0bchunked']],
    ['a space in Transfer-Encoding', ['Transfer-Encoding : chunked']],
  ])('%s: the server reads no second request from the rest', async (_what, headers) => {
    const smuggled = get()
    const body = `0\r\n\r\n${smuggled}`
    const { answers } = await say(
      request('POST /leads', ['Content-Type: application/json', ...headers], body),
      { count: 2 },
    )
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0]!)
  })

  test.each<[string, string]>([
    ['a size that is not a number', 'x\r\n{}\r\n0\r\n\r\n'],
    ['a negative size', '-2\r\n{}\r\n0\r\n\r\n'],
    ['a size that no number can hold', `${'f'.repeat(40)}\r\n{}\r\n0\r\n\r\n`],
    ['a chunk longer than its size', '1\r\n{}\r\n0\r\n\r\n'],
  ])('chunks with %s', async (_what, body) => {
    const { answers } = await say(
      request('POST /leads', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], body),
      { count: 2 },
    )
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0]!)
  })

  test('headers of more than 16 KiB get 431', async () => {
    for (const headers of [
      [`X-A: ${'a'.repeat(20_000)}`],
      Array.from({ length: 2000 }, (_, index) => `X-${index}: aaaa`),
    ]) {
      const { answers } = await say(request('GET /leads/statuses', headers))
      expectProblem(answers[0]!, 431)
    }
    expectProblem((await say(request(`GET /leads?page=${'1'.repeat(20_000)}`))).answers[0]!, 431)
  })

  test('a request without a Host gets 400', async () => {
    expectProblem((await say('GET /leads/statuses HTTP/1.1\r\n\r\n')).answers[0]!, 400)
  })

  test('an unknown expectation gets 417', async () => {
    const { answers } = await say(
      request(
        'POST /leads',
        ['Expect: a miracle', 'Content-Type: application/json', 'Content-Length: 2'],
        '{}',
      ),
    )
    expectProblem(answers[0]!, 417)
  })
})

describe('addresses', () => {
  test.each([
    '/%',
    '/%zz',
    '/%ff',
    '/%00',
    '/leads/%',
    '/leads/%zz',
    '/leads/%c0%ae',
    '/leads/%00',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/assets/%',
    '/assets/../../etc/passwd',
    '/assets/..%2f..%2fetc%2fpasswd',
    '/assets/%00',
    '/leads//',
    '//leads',
    '/leads/statuses/x',
    '/LEADS',
    '/leads;x=1',
    '/.git/config',
    '/leads/%u0041',
    `/${'a/'.repeat(4000)}`,
    '/\xff\xfe',
    '/docs/../../package.json',
    '/docs/%2e%2e%2fpackage.json',
    '*',
  ])('%s does not exist', async (path) => {
    const { answers } = await say(request(`GET ${path}`))
    expect([400, 401, 404]).toContain(answers[0]!.status)
    expectRefusal(answers[0]!)
  })

  test('a target may be an absolute URL or end with a slash', async () => {
    for (const target of [
      `${world.baseUrl}/leads/statuses`,
      'http://elsewhere.example/leads/statuses',
      '/leads/statuses/',
      '/leads/statuses?',
      '/leads/statuses?x#y',
    ]) {
      const { answers } = await say(request(`GET ${target}`))
      expect({ target, status: answers[0]?.status }).toEqual({ target, status: 200 })
    }
  })

  test('a malicious Host never appears in a response', async () => {
    for (const host of [
      'evil"><script>',
      'a b',
      'x@evil.example',
      'evil.example/path',
      'evil.example#',
      '[::1',
      `${'a'.repeat(300)}.example`,
      '',
    ]) {
      const { answers } = await say(
        `GET /leads HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${world.system.token}\r\n\r\n`,
      )
      if (answers[0]!.status !== 200) expectRefusal(answers[0]!)
      else expect(JSON.parse(answers[0]!.text).path).toBe(`${world.baseUrl}/leads`)
    }
  })
})

describe('methods', () => {
  test.each([
    'PUT',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'MKCOL',
    'PURGE',
    'LINK',
    'M-SEARCH',
    'QUERY',
  ])('%s gets 405 with the allowed methods', async (method) => {
    for (const path of [
      '/leads',
      '/leads/statuses',
      `/leads/${world.reference}`,
      `/leads/${world.reference}/appointments`,
      '/manage/leads',
      '/healthz',
    ]) {
      const answer = (await say(request(`${method} ${path}`))).answers[0]!
      expectProblem(answer, 405)
      expect(answer.headers['allow']).toMatch(/^[A-Z]+(, [A-Z]+)*$/)
    }
  })

  test('CONNECT is refused, and upgrades are ignored', async () => {
    const connect = await say('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', {
      count: 2,
    })
    for (const answer of connect.answers) expectRefusal(answer)
    expect(connect.closed).toBe(true)
    const upgrade = await say(
      request('GET /leads/statuses', [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
      ]),
    )
    expect(upgrade.answers[0]!.status).toBe(200)
    const http2 = await say(
      request('GET /leads/statuses', [
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAAQAAP__',
      ]),
    )
    expect(http2.answers[0]!.status).toBe(200)
  })

  test('GET with an invalid body and HEAD of an unknown lead get proper responses', async () => {
    const withBody = await say(
      request('GET /leads/statuses', ['Content-Length: 1', 'Content-Type: application/json'], '{'),
    )
    expect(withBody.answers[0]!.status).toBeLessThan(500)
    const head = await say(request('HEAD /leads/x'), { head: true })
    expect(head.answers[0]).toMatchObject({ status: 404, text: '' })
  })
})

describe('connections', () => {
  test('HTTP/1.0 gets a response, and the server closes the connection', async () => {
    const { answers, closed } = await say(
      `GET /leads/statuses HTTP/1.0\r\nAuthorization: Bearer ${world.system.token}\r\n\r\n`,
      { count: 2 },
    )
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(closed).toBe(true)
  })

  test('pipelined requests get their responses in order', async () => {
    const paths = [
      '/leads/statuses',
      '/nowhere',
      `/leads/${world.reference}`,
      '/leads/x',
      '/healthz',
      '/leads?page=7',
    ]
    const { answers } = await say(paths.map((path) => request(`GET ${path}`)).join(''), {
      count: paths.length,
    })
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 404, 200, 200])
  })

  test('a refused body does not become the next request', async () => {
    const hidden = request('GET /leads/statuses')
    const refused = request(
      'POST /leads',
      ['Content-Type: text/plain', `Content-Length: ${hidden.length}`],
      hidden,
    )
    // Responses come in the order of their requests, so a response to the hidden request would be the second.
    const next = [request('GET /nowhere'), request('PUT /leads')].join('')
    const { answers } = await say(refused + next, { count: 3 })
    expect(answers.map(({ status }) => status)).toEqual([415, 404, 405])
  })

  test('Expect: 100-continue gets a refusal at once, and 100 only if the server reads the body', async () => {
    const body = json()
    const headers = [
      'Expect: 100-continue',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    const withoutToken = await say(`POST /leads HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`)
    expectProblem(withoutToken.answers[0]!, 401)
    // A client that receives no `100 Continue` may omit the body. The server cannot tell whether the next
    // bytes are the body or another request, so it closes the connection.
    expect([withoutToken.informational, withoutToken.answers[0]!.headers['connection']]).toEqual([
      [],
      'close',
    ])
    for (const [line, type, length, limit] of [
      ['POST /leads', 'application/json', 1024 * 1024 + 1, 1],
      ['POST /manage/images', 'Multipart/form-data; boundary=b', 12 * 1024 * 1024, 11],
    ] as const) {
      const long = ['Expect: 100-continue', `Content-Type: ${type}`, `Content-Length: ${length}`]
      const refused = await say(request(line, long))
      expect(expectProblem(refused.answers[0]!, 413).detail).toBe(
        `The body may not be larger than ${limit} MiB.`,
      )
      expect([refused.informational, refused.closed]).toEqual([[], true])
    }
    const { answers, informational } = await say([request('PATCH /leads/x', headers), body])
    expect(informational).toEqual([100])
    expectProblem(answers[0]!, 404)
  })

  test('a request that arrives byte by byte is read like any other', async () => {
    const body = '{"name":'
    const head = request('POST /leads', ['Content-Type: application/json', `Content-Length: ${body.length}`])
    expectProblem((await say([head, ...[...body].flatMap((byte) => [byte, 2])])).answers[0]!, 400)
    const lines = [...head].map((byte) => byte)
    expectProblem((await say([...lines, body])).answers[0]!, 400)
  })

  test('a request whose client disconnects before its end does nothing', async () => {
    const body = json()
    const head = (length: string) => request('POST /leads', ['Content-Type: application/json', length])
    for (const pieces of [
      [head(`Content-Length: ${Buffer.byteLength(body) + 1}`), body],
      [head(`Content-Length: ${Buffer.byteLength(body)}`), body.slice(0, 20)],
      [head('Transfer-Encoding: chunked'), `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`],
      [head('Content-Length: 5').slice(0, 60)],
      [''],
    ]) {
      await abandon(world.baseUrl, pieces, () => new Promise((resolve) => setTimeout(resolve, 20)))
      await halfClose(pieces)
    }
  })

  test('a thousand abandoned connections do no harm', async () => {
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 100 }, () =>
          abandon(world.baseUrl, get().slice(0, 30 + round), async () => undefined),
        ),
      )
    }
    expect((await say(get())).answers[0]!.status).toBe(200)
  })

  test('the server closes a connection if the body of a refused request never arrives', async () => {
    const { answers, closed } = await stalled
    expect(answers).toHaveLength(1)
    expectProblem(answers[0]!, 401)
    expect(closed).toBe(true)
  })
})

/** Sends the pieces, ends the client's side of the connection, and waits until the server closes it. */
const halfClose = async (pieces: string[]): Promise<void> => {
  const { hostname, port } = new URL(world.baseUrl)
  const socket = createConnection({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  await new Promise((resolve) => {
    socket
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', () => undefined)
      .on('close', resolve)
    socket.end(pieces.join(''), 'latin1')
  })
  expect(Buffer.concat(chunks).toString()).not.toMatch(/^HTTP\/1.1 [25]/)
}

test('invalid requests store nothing', () => world.expectNothingLeft(before))
