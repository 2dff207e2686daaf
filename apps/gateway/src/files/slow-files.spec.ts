import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const PATH = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10/attachments'
const MEBIBYTE = 1024 * 1024

let gateway: RunningGateway
let port: number
let sockets: Socket[]
/** The uploads that files-service received. */
let uploads: IncomingMessage[]
let answerFiles: RequestListener

const start = async (
  {
    writeStallMs,
    ...uploadLimits
  }: { graceMs?: number; idleMs?: number; totalMs?: number; writeStallMs?: number },
  config = {},
) => {
  gateway = await startGateway(
    {
      leads: {
        retrieveLeads: retrieveAllBut(),
      },
      attachments: {
        attachFile: async () => ({ body: Buffer.from('{"data":{}}') }),
        retrieveAttachment: async () => ({
          file: {
            name: 'n',
            fileName: 'a.txt',
            fileSize: 5,
            contentType: 'text/plain',
            key: 'attachments/a.txt',
          },
        }),
      },
      files: (request, response) => {
        if (request.method === 'POST') uploads.push(request.on('error', () => undefined))
        answerFiles(request, response)
      },
    },
    { uploadLimits, writeStallMs, config },
  )
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  port = (gateway.app.server.address() as AddressInfo).port
}

beforeEach(() => {
  sockets = []
  uploads = []
  answerFiles = (request) => void request.resume()
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await gateway.stop()
})

const open = (head: string) => {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  sockets.push(socket)
  socket.write(`${head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n`)
  return socket
}

/** Sends the head of an upload and the beginning of its file. */
const beginUpload = (start = 'hello') => {
  const socket = open(`POST ${PATH}`)
  socket.write('Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: 20000000\r\n\r\n')
  socket.write('--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n')
  socket.write(start)
  return socket
}

const readResponse = async (socket: Socket) => {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await eventually(() => expect(text).toContain('}'))
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const retryAfter = /^retry-after: (.*)$/im.exec(head)?.[1]
  return { status: Number(head.split(' ')[1]), retryAfter, body: JSON.parse(body) }
}

/**
 * Waits until every upload that has reached files-service was aborted. On a busy machine, the time limit may
 * end an upload before the upload has reached files-service.
 */
const untilNothingIsLeft = () =>
  eventually(() => expect(uploads.map(({ aborted }) => aborted)).not.toContain(false))

const TOO_SLOW = { type: '/problems#timeout', title: 'Request Timeout', status: 408 }

test('a client that falls silent in its file is a 408, and nothing is left of the upload', async () => {
  await start({ idleMs: 600 })
  const { status, body } = await readResponse(beginUpload())
  expect([status, body]).toEqual([408, expect.objectContaining(TOO_SLOW)])
  await untilNothingIsLeft()
})

test('a client that falls silent before its file is a 408', async () => {
  await start({ idleMs: 200 })
  const socket = open(`POST ${PATH}`)
  socket.write(
    'Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: 1000\r\n\r\n--XX\r\nContent-',
  )
  expect(await readResponse(socket)).toMatchObject({ status: 408, body: TOO_SLOW })
  expect(uploads).toEqual([])
})

test('a client that sends a byte now and then is a 408 when its time is over', async () => {
  await start({ idleMs: 10_000, totalMs: 500 })
  const socket = beginUpload()
  const timer = setInterval(() => socket.write('x'), 50)
  const answer = await readResponse(socket)
  clearInterval(timer)
  expect(answer).toMatchObject({ status: 408, body: TOO_SLOW })
  await untilNothingIsLeft()
})

test('a files-service that takes no bytes is a 504: the client was not slow', async () => {
  await start({ idleMs: 1500 })
  answerFiles = (request) => void request.pause()
  const socket = beginUpload()
  const chunk = Buffer.alloc(MEBIBYTE, 'x')
  for (let sent = 0; sent < 15; sent += 1) socket.write(chunk)
  expect(await readResponse(socket)).toMatchObject({ status: 504, body: { type: '/problems#late' } })
})

test('a files-service that does not answer is a 504 for an upload, and a 503 for a download', async () => {
  await start({ idleMs: 1500 })
  const data = new FormData()
  data.append('name', 'n')
  data.append('file', new Blob(['hello']), 'a.txt')
  const headers = { authorization: 'Bearer all' }
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, { method: 'POST', body: data, headers })
  expect(answer.status).toBe(504)
  const download = await fetch(`http://127.0.0.1:${port}${PATH}/5`, { headers })
  expect([download.status, download.headers.get('retry-after')]).toEqual([503, '1'])
})

test('an account has a limit of uploads at once; beyond it one is refused, and when one ends another is accepted', async () => {
  // Does not end an upload because it arrives slowly.
  await start({ graceMs: 600_000 }, { ACCOUNT_MAX_UPLOADS: 3 })
  const slow = [beginUpload(), beginUpload(), beginUpload()]
  await eventually(() => expect(uploads).toHaveLength(3))
  expect(await readResponse(beginUpload())).toMatchObject({
    status: 429,
    retryAfter: '5',
    body: {
      type: '/problems#rate-limited',
      detail: 'An account may have at most 3 uploads at once. Try again when one is done.',
    },
  })
  slow[0]!.destroy()
  await eventually(() => expect(uploads[0]).toMatchObject({ aborted: true }))
  await eventually(() => {
    beginUpload()
    expect(uploads).toHaveLength(4)
  })
})

test('the connection of a client that takes nothing of its download is closed', async () => {
  await start({ writeStallMs: 300 })
  let closed = false
  answerFiles = (_request, response) => {
    response.on('close', () => {
      closed = true
    })
    response.writeHead(200, { 'content-length': 100 * MEBIBYTE })
    const more = () => {
      while (response.write(Buffer.alloc(MEBIBYTE)));
      response.once('drain', more)
    }
    more()
  }
  const socket = open(`GET ${PATH}/5`)
  socket.write('\r\n')
  await once(socket, 'data')
  socket.pause()
  await eventually(() => expect(closed).toBe(true))
})

test('a download that stands still is broken off, never passed off as whole', async () => {
  await start({ idleMs: 300 })
  answerFiles = (_request, response) => void response.writeHead(200, { 'content-length': 5 }).write('he')
  const headers = { authorization: 'Bearer all' }
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}/5`, { headers })
  await expect(answer.text()).rejects.toThrow()
})
