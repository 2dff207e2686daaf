import { once } from 'node:events'
import { connect } from 'node:net'
import { createDice, type Dice } from '@leadwire/test-kit'
import fc from 'fast-check'
import { exchange, type Piece } from './bad-input/raw-http'
import { startWorld, type World } from './bad-input/world.fixture'

// Change the seed to try other requests.
const SEED = 20_261_122
const ROUNDS = 500

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const head = (line: string, headers: string[], token = world.system.token) =>
  [`${line} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n')

const next = () => head('GET /leads/statuses', [])

const encodeChunks = (dice: Dice, body: string): string => {
  const chunks: string[] = []
  for (let at = 0; at < body.length; ) {
    const size = 1 + dice.below(body.length)
    const chunk = body.slice(at, at + size)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    at += size
  }
  return `${chunks.join('')}0\r\n\r\n`
}

type Refusal = { status: number; line?: string; headers?: string[]; body?: string; token?: string }

const JSON_TYPE = 'Content-Type: application/json'
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded'

/**
 * All reasons to refuse a request with a body. By default the body looks like a second request, which the
 * server must not execute.
 */
const REFUSALS: [string, () => Refusal][] = [
  ['an unsupported type', () => ({ status: 415, headers: ['Content-Type: text/plain'] })],
  ['no type', () => ({ status: 415 })],
  ['another charset', () => ({ status: 415, headers: [`${JSON_TYPE}; charset=latin1`], body: '{}' })],
  ['a compressed body', () => ({ status: 415, headers: [JSON_TYPE, 'Content-Encoding: gzip'] })],
  ['broken JSON', () => ({ status: 400, headers: [JSON_TYPE] })],
  ['JSON that is not an object', () => ({ status: 422, headers: [JSON_TYPE], body: '[]' })],
  ['missing fields', () => ({ status: 422, headers: [JSON_TYPE], body: '{"name":"x"}' })],
  ['a form that is not UTF-8', () => ({ status: 400, headers: [FORM_TYPE], body: 'name=%ff' })],
  ['a body that is too large', () => ({ status: 413, headers: [JSON_TYPE], body: 'x'.repeat(1_200_000) })],
  ['no token', () => ({ status: 401, headers: [JSON_TYPE], token: 'none' })],
  ['an unknown address', () => ({ status: 404, line: 'POST /nowhere', headers: [JSON_TYPE] })],
  ['a wrong method', () => ({ status: 405, line: 'PUT /leads', headers: [JSON_TYPE] })],
  ['an unknown lead', () => ({ status: 404, line: 'PATCH /leads/x', headers: [JSON_TYPE], body: '{}' })],
  [
    'an attachment to an unknown lead',
    () => ({
      status: 404,
      line: 'POST /leads/x/attachments',
      headers: ['Content-Type: multipart/form-data; boundary=b'],
    }),
  ],
  [
    'a truncated form with a file',
    () => ({
      status: 400,
      line: `POST /leads/${world.reference}/attachments`,
      headers: ['Content-Type: multipart/form-data; boundary=b'],
      body: '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf',
    }),
  ],
  ['Expect', () => ({ status: 415, headers: ['Content-Type: text/plain', 'Expect: 100-continue'] })],
  ['an unknown expectation', () => ({ status: 417, headers: [JSON_TYPE, 'Expect: wonders'] })],
]

/** Splits the text into up to four packets. */
const packets = (dice: Dice, text: string, headLength: number): Piece[] => {
  // Half of the cuts are near the end of the head, where errors are most likely.
  const cuts = Array.from({ length: dice.below(4) }, () =>
    dice.below(2) === 0 ? headLength + dice.below(40) - 20 : dice.below(text.length),
  )
  const at = [0, ...cuts.map((cut) => Math.min(Math.max(cut, 0), text.length)).sort((a, b) => a - b)]
  return at.flatMap((from, index) => [text.slice(from, at[index + 1]), dice.below(4)])
}

const tryOut = async (dice: Dice): Promise<void> => {
  const [what, refusal] = dice.pick(REFUSALS)
  const { status, line = 'POST /leads', headers = [], body = next(), token } = refusal()
  const chunked = dice.below(2) === 0
  const length = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const start = head(line, [...headers, length], token)
  const text = start + (chunked ? encodeChunks(dice, body) : body) + next()
  const { answers } = await exchange(world.baseUrl, packets(dice, text, start.length), {
    count: 2,
    timeoutMs: 60_000,
  })
  const seen = answers.map((answer) => ({
    status: answer.status,
    ends: answer.headers['connection'] === 'close',
  }))
  const expected = [status, 200].map((code) => ({ status: code, ends: false }))
  expect({ what, chunked, seen }).toEqual({ what, chunked, seen: expected })
}

test('the request after a refused one gets its response', async () => {
  const answered = fc.asyncProperty(fc.gen(), (draw) => tryOut(createDice(draw)))
  await fc.assert(answered, { seed: SEED, numRuns: ROUNDS })
}, 180_000)

test.each([
  'HTTP/1.1',
  'HTTP/1.0',
])('a client that sends everything before it reads, with Connection: close, gets the response (%s)', async (version) => {
  const { hostname, port } = new URL(world.baseUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  const failures: Error[] = []
  socket.on('error', (error) => failures.push(error))
  const size = 20 * 1024 * 1024
  const headers = ['Connection: close', JSON_TYPE, `Content-Length: ${size}`]
  socket.write(head('POST /leads', headers, 'none').replace('HTTP/1.1', version))
  // Keeps sending until long after the server has written its response.
  for (let sent = 0; sent < size; sent += 1024 * 1024) {
    await new Promise((resolve) => socket.write(Buffer.alloc(1024 * 1024), resolve))
  }
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  await once(socket, 'close')
  expect(failures).toEqual([])
  const answer = Buffer.concat(received).toString()
  expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  expect(answer).toMatch(/"status":401,.*}$/)
})
