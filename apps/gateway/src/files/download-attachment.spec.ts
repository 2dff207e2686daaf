import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { problemJson, ServiceError, toProblem } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const URL_PATH = `/leads/${REFERENCE}/attachments/5`
const MEBIBYTE = 1024 * 1024

let gateway: RunningGateway
let port: number
let fileName = 'notes.txt'
let contentType = 'text/plain'
let asked: string[]
let chunksSent = 0
let cancelled: Promise<void>

const chunks = function* () {
  for (; chunksSent < 1000; chunksSent += 1) yield Buffer.alloc(MEBIBYTE)
}

beforeAll(async () => {
  gateway = await startGateway({
    attachments: {
      retrieveAttachment: async ({ attachmentId }) => {
        if (attachmentId !== 5) throw new ServiceError('not_found', 'There is no such attachment.')
        return { file: { name: 'n', fileName, fileSize: 5, contentType, key: fileName } }
      },
    },
    files: (request, response) => {
      const key = decodeURIComponent(request.url!.replace('/files/', ''))
      asked.push(key)
      if (key.includes('missing') || key.endsWith('.gif')) {
        const missing = new ServiceError('not_found', 'There is no such file.')
        return void response.writeHead(404).end(problemJson(toProblem(missing), 'x'))
      }
      if (key === 'huge.bin') {
        cancelled = once(response, 'close').then(() => undefined)
        response.writeHead(200, { 'content-length': 1000 * MEBIBYTE })
        return void pipeline(Readable.from(chunks()), response).catch(() => undefined)
      }
      response.writeHead(200, { 'content-length': 5 })
      response.write('he', () => (key === 'broken.txt' ? response.destroy() : response.end('llo')))
    },
  })
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  port = (gateway.app.server.address() as AddressInfo).port
})
beforeEach(() => {
  asked = []
  fileName = 'notes.txt'
  contentType = 'text/plain'
})
afterAll(() => gateway.stop())

test('an attachment comes back as a download that runs no script', async () => {
  const response = await gateway.send({ url: URL_PATH })
  expect(response.body).toBe('hello')
  expect(response.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-length': '5',
    'content-disposition': 'attachment; filename="notes.txt"',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, max-age=3600',
  })
})

test('a text in another charset than UTF-8 is served with it', async () => {
  contentType = 'text/plain; charset=windows-1252'
  expect((await gateway.send({ url: URL_PATH })).headers['content-type']).toBe(contentType)
})

test.each([
  ['a"b\\c%.svg', `attachment; filename="a_b_c_.svg"; filename*=UTF-8''a%22b%5Cc%25.svg`],
  [
    "Grüße (1)'*.pdf",
    `attachment; filename="Gr__e (1)'*.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%281%29%27%2A.pdf`,
  ],
  ['a\u202etxt.exe\u2069.txt', 'attachment; filename="atxt.exe.txt"'],
])('the file name %j travels whole, without marks of direction', async (name, disposition) => {
  fileName = name
  expect((await gateway.send({ url: URL_PATH })).headers['content-disposition']).toBe(disposition)
})

test('HEAD has the size and reads nothing', async () => {
  fileName = 'huge.bin'
  chunksSent = 0
  const response = await gateway.send({ method: 'HEAD', url: URL_PATH })
  expect([response.statusCode, response.headers['content-length'], response.body]).toEqual([
    200,
    String(1000 * MEBIBYTE),
    '',
  ])
  await cancelled
  expect(chunksSent).toBeLessThan(50)
})

test('an unknown attachment is a 404, and needs a token first', async () => {
  expect((await gateway.send({ url: `/leads/${REFERENCE}/attachments/6` })).statusCode).toBe(404)
  expect((await gateway.send({ url: `/leads/${REFERENCE}/attachments/x` })).statusCode).toBe(404)
  expect((await gateway.app.inject({ url: URL_PATH })).statusCode).toBe(401)
})

test.each(['broken.txt'])('a file that ends early (%s) is never passed off as whole', async (name) => {
  fileName = name
  const response = await fetch(`http://127.0.0.1:${port}${URL_PATH}`, {
    headers: { authorization: 'Bearer all' },
  })
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
})

test('a client that stops reading stops the file, and one that disconnects ends it', async () => {
  fileName = 'huge.bin'
  chunksSent = 0
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${URL_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  let before = -1
  await eventually(
    () => {
      const unchanged = before === chunksSent
      before = chunksSent
      expect(unchanged).toBe(true)
    },
    { everyMs: 200 },
  )
  expect(chunksSent).toBeLessThan(100)
  socket.destroy()
  await cancelled
})

describe('images', () => {
  const image = (file: string, headers = {}, method: 'GET' | 'HEAD' = 'GET') =>
    gateway.app.inject({ method, url: `/assets/images/${file}`, headers })
  const PNG = `${REFERENCE}.png`

  test('are public and kept for ever', async () => {
    const response = await image(PNG)
    expect([response.statusCode, response.body]).toEqual([200, 'hello'])
    expect(asked).toEqual([`images/${PNG}`])
    expect(response.headers).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${REFERENCE}"`,
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
    expect(response.headers['content-disposition']).toBeUndefined()
  })

  test('an SVG never opens as a page of ours', async () => {
    expect((await image(`${REFERENCE}.svg`)).headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
    })
  })

  test.each([
    `"${REFERENCE}"`,
    `W/"${REFERENCE}"`,
    `"x", "${REFERENCE}"`,
    '*',
  ])('If-None-Match: %s is a 304', async (tag) => {
    const response = await image(PNG, { 'if-none-match': tag })
    expect([response.statusCode, response.body]).toEqual([304, ''])
  })

  test.each([
    `${REFERENCE}.gif`,
    `${REFERENCE}.txt`,
    `${REFERENCE}.PNG`,
    REFERENCE,
    `${REFERENCE}.png.png`,
    'x.png',
    '%2e%2e%2fattachments%2fx.png',
  ])('%s is a 404', async (file) => {
    const response = await image(file)
    expect(response.statusCode).toBe(404)
    expect(response.headers['cache-control']).toBeUndefined()
  })

  test('HEAD works', async () => {
    const response = await image(PNG, {}, 'HEAD')
    expect([response.statusCode, response.headers['content-length'], response.body]).toEqual([200, '5', ''])
  })
})
