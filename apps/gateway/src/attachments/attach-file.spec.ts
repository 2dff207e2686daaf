import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { AttachFileRequest } from '@leadwire/contracts'
import { problemJson, problemOf, ServiceError } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, SERVICE_TOKEN, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const MISSING = '00000000-0000-4000-8000-000000000000'
const URL_PATH = `/leads/${REFERENCE}/attachments`

interface Upload {
  terms: Record<string, string>
  bytes: number
  sha256: string
  outcome: 'kept' | 'checked' | 'too_large' | 'broken off'
}

let gateway: RunningGateway
let port: number
let uploads: Upload[]
let records: AttachFileRequest[]
let deleted: string[]
let tokens: Set<string | undefined>
let refuseRecord: ServiceError | undefined
let renewed: string[]
const keys = new Map<string, { saved?: { fingerprint: Uint8Array; body: Uint8Array } }>()

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      checkReferences: async ({ leadReference }) => ({
        leadMissing: leadReference === MISSING,
        userMissing: false,
        missingImageIds: [],
      }),
    },
    files: async (request, response) => {
      const url = new URL(request.url!, 'http://files')
      tokens.add(request.headers.authorization)
      if (request.method === 'DELETE') {
        deleted.push(url.pathname.replace('/files/', ''))
        return void response.writeHead(204).end()
      }
      const { searchParams } = url
      const upload: Upload = {
        terms: Object.fromEntries(searchParams),
        ...{ bytes: 0, sha256: '', outcome: 'broken off' },
      }
      uploads.push(upload)
      const hash = createHash('sha256')
      const answer = (status: number, body: string) => {
        response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
        request.resume()
      }
      const refuse = (error: ServiceError) => answer(400, problemJson(problemOf(error), 'x'))
      request.on('error', () => undefined)
      request.on('data', (chunk: Buffer) => {
        upload.bytes += chunk.length
        hash.update(chunk)
        if (upload.bytes <= Number(searchParams.get('max_bytes')) || upload.outcome === 'too_large') return
        upload.outcome = 'too_large'
        refuse(new ServiceError('too_large', 'The file may not be larger than 10 MiB.'))
      })
      request.on('end', () => {
        if (upload.outcome === 'too_large') return
        if (upload.bytes === 0) return refuse(ServiceError.invalid({ file: ['The file must not be empty.'] }))
        const keep = searchParams.get('keep') === 'true'
        upload.outcome = keep ? 'kept' : 'checked'
        upload.sha256 = hash.digest('hex')
        const { bytes: size, sha256 } = upload
        const key = keep ? 'attachments/1.txt' : ''
        answer(200, JSON.stringify({ key, size, content_type: 'text/plain', sha256 }))
      })
    },
    attachments: {
      attachFile: async (request) => {
        records.push(request)
        if (refuseRecord) throw refuseRecord
        const body = Buffer.from(`{"data":{"file_name":${JSON.stringify(request.file!.fileName)}}}`)
        if (request.idempotency) {
          keys.set(request.idempotency.key, { saved: { fingerprint: request.idempotency.fingerprint, body } })
        }
        return { body }
      },
      claimIdempotencyKey: async ({ key }) => {
        const known = keys.get(key)
        if (known && !known.saved) throw new ServiceError('conflict', 'Still being worked on.')
        if (!known) keys.set(key, {})
        return { saved: known?.saved, claimId: 'claim' }
      },
      renewIdempotencyKey: async ({ key }) => {
        renewed.push(key)
        return {}
      },
      releaseIdempotencyKey: async ({ key }) => {
        keys.delete(key)
        return {}
      },
    },
  })
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  port = (gateway.app.server.address() as AddressInfo).port
})
beforeEach(() => {
  uploads = []
  records = []
  deleted = []
  tokens = new Set()
  refuseRecord = undefined
  renewed = []
})
afterAll(() => gateway.stop())

type Part = [name: string, value: string | Buffer, fileName?: string]

const form = (...parts: Part[]) => {
  const data = new FormData()
  for (const [name, value, fileName] of parts) {
    if (fileName === undefined) data.append(name, value as string)
    else data.append(name, new Blob([new Uint8Array(Buffer.from(value as Buffer))]), fileName)
  }
  return data
}

const post = async (body: RequestInit['body'], headers: Record<string, string> = {}, path = URL_PATH) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: body ?? null,
    duplex: 'half',
    headers: { authorization: 'Bearer all', ...headers },
  })
  return { status: response.status, body: await response.text(), headers: response.headers }
}

const attach = (...parts: Part[]) => post(form(...parts))

/** What was stored before the form turned out to be faulty was deleted again. */
const expectNothingKept = () =>
  expect(deleted).toHaveLength(uploads.filter(({ outcome }) => outcome === 'kept').length)

const FILE: Part = ['file', 'hello', 'notes.txt']

const raw = (text: string, boundary = 'XX') =>
  post(text, { 'content-type': `multipart/form-data; boundary=${boundary}` })

const part = (disposition: string, content: string) =>
  `--XX\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`

test.each<[string, Part[]]>([
  ['name before file', [['name', ' Survey '], FILE]],
  ['file before name', [FILE, ['name', 'Survey']]],
  ['with fields nobody knows', [['x', '1'], FILE, ['name', 'Survey'], ['y', '2']]],
])('%s', async (_name, parts) => {
  const { status, body } = await attach(...parts)
  expect([status, body]).toEqual([200, '{"data":{"file_name":"notes.txt"}}'])
  expect(uploads).toMatchObject([
    {
      terms: { collection: 'attachments', file_name: 'notes.txt', max_bytes: '10485760' },
      bytes: 5,
      outcome: 'kept',
    },
  ])
  expect(records).toMatchObject([
    {
      accountId: 3,
      reference: REFERENCE,
      baseUrl: 'https://api.example.test',
      file: {
        name: 'Survey',
        fileName: 'notes.txt',
        fileSize: 5,
        contentType: 'text/plain',
        key: 'attachments/1.txt',
      },
    },
  ])
})

test('files-service is shown the token', async () => {
  await attach(['name', 'n'], FILE)
  expect([...tokens]).toEqual([`Bearer ${SERVICE_TOKEN}`])
})

test('bytes arrive as they were sent', async () => {
  const bytes = randomBytes(10_485_760)
  expect((await attach(['file', bytes, 'a.txt'], ['name', 'n'])).status).toBe(200)
  expect(uploads[0]!.sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
})

test.each([
  1, 1_000_000, 20_000_000,
])('%i bytes too many are a 413, and the client hears it', async (excess) => {
  const { status, body } = await attach(['name', 'n'], ['file', Buffer.alloc(10_485_760 + excess), 'a.txt'])
  expect(status).toBe(413)
  expect(JSON.parse(body).type).toBe('/problems#too-large')
  expect(uploads[0]!.outcome).toBe('too_large')
  expect(records).toEqual([])
})

test.each<[string, Part[], Record<string, string[]>]>([
  ['nothing', [], { file: ['The file field is required.'], name: ['The name field is required.'] }],
  ['no file', [['name', 'n']], { file: ['The file field is required.'] }],
  ['no name', [FILE], { name: ['The name field is required.'] }],
  ['an empty name', [['name', ' '], FILE], { name: ['The name field is required.'] }],
  [
    'a long name',
    [['name', 'x'.repeat(256)], FILE],
    { name: ['The name may not be greater than 255 characters.'] },
  ],
  [
    'an empty file and no name',
    [['file', '', 'a.txt']],
    { name: ['The name field is required.'], file: ['The file must not be empty.'] },
  ],
  [
    'file as a field',
    [
      ['name', 'n'],
      ['file', 'hello'],
    ],
    { file: ['The file must be a file.'] },
  ],
  ['two files', [['name', 'n'], FILE, FILE], { file: ['Only one file can be sent, as the field file.'] }],
  [
    'a file of another name',
    [['name', 'n'], FILE, ['other', 'x', 'x.txt']],
    { other: ['Only one file can be sent, as the field file.'] },
  ],
  [
    'a file with only folders for a name',
    [
      ['name', 'n'],
      ['file', 'x', 'a/b/'],
    ],
    { file: ['The file must have a name.'] },
  ],
])('%s is a 422 with every fault, and nothing is kept', async (_name, parts, errors) => {
  const { status, body } = await attach(...parts)
  expect([status, JSON.parse(body).errors]).toEqual([422, errors])
  expectNothingKept()
  expect(records).toEqual([])
})

test.each([
  ['../../etc/passwd.txt', 'passwd.txt'],
  ['C:\\Users\\Ada\\notes.txt', 'notes.txt'],
  ['Grüße 世界.txt', 'Grüße 世界.txt'],
  ['a "quoted" name.txt', 'a %22quoted%22 name.txt'],
])('of the file name %j the base name is kept', async (given, kept) => {
  expect((await attach(['name', 'n'], ['file', 'x', given])).status).toBe(200)
  expect(records[0]!.file!.fileName).toBe(kept)
})

test.each([
  ['no final boundary', part('name="name"', 'n') + part('name="file"; filename="a.txt"', 'hello')],
  ['cut off in a header', '--XX\r\nContent-Disposition: form-data; na'],
  ['no boundary in it', 'hello'],
])('a form with %s is a 400, and nothing is kept', async (_name, text) => {
  const { status } = await raw(text)
  expect(status).toBe(400)
  expectNothingKept()
})

test('without a boundary it is a 400, as another type a 415, without a body a 422', async () => {
  expect((await post('--XX--', { 'content-type': 'multipart/form-data' })).status).toBe(400)
  expect((await post('{}', { 'content-type': 'application/json' })).status).toBe(415)
  expect((await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
  expect((await post(undefined)).status).toBe(422)
})

test('a missing lead is a 404, and a missing token a 401, before the file is sent on', async () => {
  expect((await post(form(FILE), {}, `/leads/${MISSING}/attachments`)).status).toBe(404)
  expect((await post(form(FILE), {}, '/leads/x/attachments')).status).toBe(404)
  expect((await post(form(FILE), { authorization: '' })).status).toBe(401)
  expect(uploads).toEqual([])
})

test('a client that disconnects leaves nothing behind', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST ${URL_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: 100000\r\n\r\n`,
  )
  socket.write(
    `${part('name="name"', 'n')}--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello`,
  )
  await eventually(() => expect(uploads[0]?.bytes).toBe(5))
  socket.destroy()
  await once(socket, 'close')
  const healthy = await attach(['name', 'n'], FILE)
  expect(healthy.status).toBe(200)
  expect(uploads[0]).toMatchObject({ outcome: 'broken off' })
})

test('a client that disconnects behind its file leaves nothing behind either', async () => {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(
    `POST ${URL_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: 100000\r\n\r\n`,
  )
  socket.write(part('name="file"; filename="a.txt"', 'hello') + part('name="name"', 'n').slice(0, 20))
  await eventually(() => expect(uploads[0]).toMatchObject({ outcome: 'kept' }))
  socket.destroy()
  await eventually(() => expect(deleted).toEqual(['attachments/1.txt']))
  expect(records).toEqual([])
})

test('when the record is refused the bytes are deleted; when nobody knows, they stay', async () => {
  refuseRecord = new ServiceError('not_found', 'There is no such lead.')
  expect((await attach(['name', 'n'], FILE)).status).toBe(404)
  expect(deleted).toEqual(['attachments/1.txt'])
  refuseRecord = new ServiceError('unavailable', 'unavailable')
  expect((await attach(['name', 'n'], FILE)).status).toBe(503)
  expect(deleted).toEqual(['attachments/1.txt'])
})

describe('under an Idempotency-Key', () => {
  const under = (key: string, ...parts: Part[]) => post(form(...parts), { 'idempotency-key': key })

  test('the same form is answered as the first time, in either order of fields', async () => {
    const first = await under('same', ['name', 'n'], FILE)
    const second = await under('same', FILE, ['name', 'n'])
    expect([first.status, second.status, second.body]).toEqual([200, 200, first.body])
    expect(uploads.map(({ outcome }) => outcome)).toEqual(['kept', 'checked'])
    expect(records).toHaveLength(1)
  })

  test.each<[string, Part[]]>([
    ['name', [['name', 'm'], FILE]],
    [
      'file',
      [
        ['name', 'n'],
        ['file', 'hullo', 'notes.txt'],
      ],
    ],
    [
      'file name',
      [
        ['name', 'n'],
        ['file', 'hello', 'other.txt'],
      ],
    ],
  ])('another %s is a 422', async (what, parts) => {
    await under(`other ${what}`, ['name', 'n'], FILE)
    const { status, body } = await under(`other ${what}`, ...parts)
    expect([status, Object.keys(JSON.parse(body).errors)]).toEqual([422, ['idempotency_key']])
    expect(records).toHaveLength(1)
  })

  test('the key is renewed while the bytes are on their way', async () => {
    const body = new PassThrough()
    body.write('--XX\r\nContent-Disposition: form-data; name="name"\r\n\r\nn\r\n')
    const headers = { 'idempotency-key': 'slow', 'content-type': 'multipart/form-data; boundary=XX' }
    const answered = post(Readable.toWeb(body) as ReadableStream, headers)
    await eventually(() => expect(renewed).toEqual(['slow']))
    body.end('--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--XX--')
    expect((await answered).status).toBe(200)
  })

  test('one still in flight is a 409; a failure frees the key', async () => {
    keys.set('busy', {})
    expect((await under('busy', ['name', 'n'], FILE)).status).toBe(409)
    expect((await under('faulty', FILE)).status).toBe(422)
    expect((await under('faulty', ['name', 'n'], FILE)).status).toBe(200)
  })
})
