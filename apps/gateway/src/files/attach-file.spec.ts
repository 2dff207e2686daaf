import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { AttachFileRequest } from '@leadwire/contracts'
import { problemJson, ServiceError, toProblem } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, retrieveAllBut, SERVICE_TOKEN, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const MISSING = '00000000-0000-4000-8000-000000000000'
const URL_PATH = `/leads/${REFERENCE}/attachments`

interface Upload {
  terms: Record<string, string>
  bytes: number
  sha256: string
  outcome: 'kept' | 'too_large' | 'broken off'
}

let gateway: RunningGateway
let port: number
let uploads: Upload[]
let records: AttachFileRequest[]
let deleted: string[]
let tokens: Set<string | undefined>
let refuseRecord: ServiceError | undefined
/** The responses that leads-service has saved, by idempotency key. */
const answers = new Map<string, { fingerprint: Buffer; body: Buffer }>()

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      retrieveLeads: retrieveAllBut(MISSING),
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
        bytes: 0,
        sha256: '',
        outcome: 'broken off',
      }
      uploads.push(upload)
      const hash = createHash('sha256')
      const answer = (status: number, body: string) => {
        response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
        request.resume()
      }
      const refuse = (error: ServiceError) => answer(400, problemJson(toProblem(error), 'x'))
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
        upload.outcome = 'kept'
        upload.sha256 = hash.digest('hex')
        const { bytes: size, sha256 } = upload
        answer(200, JSON.stringify({ key: 'attachments/1.txt', size, content_type: 'text/plain', sha256 }))
      })
    },
    attachments: {
      attachFile: async (request) => {
        records.push(request)
        if (refuseRecord) throw refuseRecord
        const body = Buffer.from(`{"data":{"file_name":${JSON.stringify(request.file!.fileName)}}}`)
        const { key, fingerprint } = request.idempotency ?? { key: '', fingerprint: Buffer.alloc(0) }
        const saved = answers.get(key)
        if (saved && !saved.fingerprint.equals(fingerprint))
          throw ServiceError.invalid({ idempotency_key: ['This Idempotency-Key was used before.'] })
        if (saved) return { body: saved.body, replayed: true }
        if (key !== '') answers.set(key, { fingerprint: Buffer.from(fingerprint), body })
        return { body }
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

/** Expects that every file that was stored before the error has been deleted. */
const expectNothingKept = () =>
  expect(deleted).toHaveLength(uploads.filter(({ outcome }) => outcome === 'kept').length)

const FILE: Part = ['file', 'hello', 'notes.txt']

const MULTIPART = 'multipart/form-data; boundary=XX'
const raw = (text: string | Buffer, type = MULTIPART) =>
  post(new Uint8Array(Buffer.from(text)), { 'content-type': type })

const part = (disposition: string, content: string, headers: string[] = []) =>
  `--XX\r\n${[`Content-Disposition: form-data; ${disposition}`, ...headers].join('\r\n')}\r\n\r\n${content}\r\n`

const NAME_PART = part('name="name"', 'n')
const FILE_PART = part('name="file"; filename="notes.txt"', 'hello')
const END = '--XX--\r\n'

test.each<[string, Part[]]>([
  ['name before file', [['name', ' Survey '], FILE]],
  ['file before name', [FILE, ['name', 'Survey']]],
  ['with unknown fields', [['x', '1'], FILE, ['name', 'Survey'], ['y', '2']]],
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
    { file: ['The file field must be sent as a file with a file name, not as text.'] },
  ],
  ['two files', [['name', 'n'], FILE, FILE], { file: ['Send exactly one file, in the field file.'] }],
  [
    'a file of another name',
    [['name', 'n'], FILE, ['other', 'x', 'x.txt']],
    { other: ['Send exactly one file, in the field file.'] },
  ],
  [
    'a file with only folders for a name',
    [
      ['name', 'n'],
      ['file', 'x', 'a/b/'],
    ],
    { file: ['The file must have a name.'] },
  ],
])('%s is a 422 with every error, and nothing is kept', async (_name, parts, errors) => {
  const { status, body } = await attach(...parts)
  expect([status, JSON.parse(body).errors]).toEqual([422, errors])
  expectNothingKept()
  expect(records).toEqual([])
})

test.each([
  ['../../etc/passwd.txt', 'passwd.txt'],
  ['C:\\Users\\Ada\\notes.txt', 'notes.txt'],
  ['Grüße 世界.txt', 'Grüße 世界.txt'],
  ['a "quoted" name.txt', 'a "quoted" name.txt'],
  ['24" bay\n– plan.txt', '24" bay – plan.txt'],
])('of the file name %j the base name is kept', async (given, kept) => {
  expect((await attach(['name', 'n'], ['file', 'x', given])).status).toBe(200)
  expect(records[0]!.file!.fileName).toBe(kept)
})

test.each<[string, string, string]>([
  [
    'a name that is encoded, behind a plain one',
    `filename="plan.txt"; filename*=UTF-8''pl%C3%A4n.txt`,
    'plän.txt',
  ],
  [
    'a name that is encoded, before a plain one',
    `filename*=UTF-8''pl%C3%A4n.txt; filename="plan.txt"`,
    'plän.txt',
  ],
  [
    "a name as .NET's HttpClient sends it",
    `filename="=?utf-8?B?cGzDpG4udHh0?="; filename*=utf-8''pl%C3%A4n.txt`,
    'plän.txt',
  ],
  ['a name in Latin-1 that says so', `filename*=iso-8859-1''pl%E4n.txt`, 'plän.txt'],
  ['a plain name beside one in no charset', `filename*=x''a; filename="plan.txt"`, 'plan.txt'],
  ['a name in pieces', 'filename*0="the long "; filename*1="plan.txt"', 'the long plan.txt'],
  [
    'a name in encoded pieces, in another order',
    `filename*1*=%A4n; filename*2=" 2.txt"; filename*0*=UTF-8''pl%C3`,
    'plän 2.txt',
  ],
  ['spaces and no quotes', 'filename=my plan (1).txt', 'my plan (1).txt'],
  ['spaces and no quotes before something else', 'filename=my plan.txt ; x=y', 'my plan.txt'],
  ['a semicolon', 'filename="a; b.txt"', 'a; b.txt'],
  ['escaped quotes', 'filename="a \\"plan\\".txt"', 'a "plan".txt'],
  ['folders of Windows', 'filename="C:\\Users\\Ada\\plan.txt"', 'plan.txt'],
  ['folders of Windows, escaped', 'filename="C:\\\\docs\\\\plan.txt"', 'plan.txt'],
  ['a character that some program replaced', 'filename="pl\uFFFDn.txt"', 'pl\uFFFDn.txt'],
  [
    'quotes and line breaks as browsers send them',
    'filename="24%22 bay%0D%0aplan 1.txt"',
    '24" bay plan 1.txt',
  ],
  ['a literal percent sign', 'filename="100%25.txt"', '100%25.txt'],
  ['a literal percent sign before a space', 'filename="50% off.txt"', '50% off.txt'],
  ['a literal escape beside a quote', 'filename="24%22 100%25.txt"', '24" 100%25.txt'],
  ['an escaped space, as a download may have', 'filename="my%20plan.txt"', 'my%20plan.txt'],
  ['UTF-8 that is percent-encoded', 'filename="pl%C3%A4n.txt"', 'plän.txt'],
  ['all bytes percent-encoded', 'filename="gro%C3%9Fer%20plan%20%28100%25%29.txt"', 'großer plan (100%).txt'],
  ['all bytes percent-encoded, in ASCII', 'filename="24%22%20bay.txt"', '24" bay.txt'],
  ['encoded UTF-8 and raw spaces', 'filename="gro%c3%9fer plan 100%.txt"', 'großer plan 100%.txt'],
  ['encoded bytes that are not UTF-8', 'filename="pl%E4n.txt"', 'pl%E4n.txt'],
  ['an escape inside an encoded name', `filename*=UTF-8''24%2522.txt`, '24%22.txt'],
  ['folders whose separators are encoded', 'filename="%C3%BC%2F..%2Fplan.txt"', 'plan.txt'],
  ['marks of direction', 'filename="\u202aa\u202etxt.exe\u2069\u200f.txt"', 'atxt.exe.txt'],
  ['parameters in capitals', 'FILENAME="plan.txt"', 'plan.txt'],
])('a file with %s keeps its name', async (_what, fileName, kept) => {
  const { status } = await raw(NAME_PART + part(`name="file"; ${fileName}`, 'hello') + END)
  expect([status, records[0]?.file?.fileName]).toEqual([200, kept])
  expect(uploads).toMatchObject([{ terms: { file_name: kept }, bytes: 5, outcome: 'kept' }])
})

test.each([
  ['other"s', 'other%22s'],
  ['größe', 'gr%C3%B6%C3%9Fe'],
  ['100%25', '100%25'],
])('a field called %s is known by that name', async (name, encoded) => {
  const { status, body } = await raw(
    NAME_PART + part(`name="${encoded}"; filename="a.txt"`, 'x') + FILE_PART + END,
  )
  expect([status, Object.keys(JSON.parse(body).errors)]).toEqual([422, [name]])
})

const EMPTY_INPUT = part('name="other"; filename=""', '', ['Content-Type: application/octet-stream'])

test.each<[string, string, string?]>([
  ['a file input that was left empty before the file', EMPTY_INPUT + NAME_PART + FILE_PART],
  ['a file input that was left empty behind the file', NAME_PART + FILE_PART + EMPTY_INPUT],
  [
    'two inputs called file, of which one was left empty',
    EMPTY_INPUT.replace('other', 'file') + FILE_PART + NAME_PART,
  ],
  [
    'fields that objects have',
    ['constructor', '__proto__', 'toString'].map((name) => part(`name="${name}"`, 'x')).join('') +
      NAME_PART +
      FILE_PART,
  ],
  ['an unknown field of 1 MiB', part('name="x"', 'é'.repeat(524_288)) + NAME_PART + FILE_PART],
  [
    'a name that has a content type',
    part('name="name"', 'n', ['Content-Type: application/octet-stream']) + FILE_PART,
  ],
  ['a name in JSON', part('name="name"', '"n"', ['Content-Type: application/json']) + FILE_PART],
  ['a name in base64', part('name="name"', 'w6k=', ['Content-Transfer-Encoding: base64']) + FILE_PART, 'é'],
  [
    'a name in quoted-printable',
    part('name="name"', '=C3=A9', ['Content-Transfer-Encoding: quoted-printable']) + FILE_PART,
    'é',
  ],
  [
    'a name with a character that some program replaced',
    part('name="name"', 'a\uFFFD') + FILE_PART,
    'a\uFFFD',
  ],
])('a form with %s is taken', async (_what, parts, name = 'n') => {
  const { status } = await raw(parts + END)
  expect([status, records[0]?.file]).toMatchObject([200, { name, fileName: 'notes.txt', fileSize: 5 }])
})

test.each([
  ['iso-8859-1', 'caf\xe9', 'café'],
  ['Windows-1252', '\x805 \x96 caf\xe9', '€5 – café'],
  ['utf-16le', 'c\0a\0f\0\xe9\0', 'café'],
])('a name in %s is read in it', async (charset, bytes, name) => {
  const named = part('name="name"', bytes, [`Content-Type: text/plain; charset="${charset}"`])
  expect((await raw(Buffer.from(named + FILE_PART + END, 'latin1'))).status).toBe(200)
  expect(records[0]!.file!.name).toBe(name)
})

test.each([
  ['BASE64', 'lines', (bytes: Buffer) => bytes.toString('base64').replace(/.{76}/g, '$&\r\n')],
  ['base64', 'one line', (bytes: Buffer) => bytes.toString('base64')],
  [
    'quoted-printable',
    'lines',
    (bytes: Buffer) => bytes.toString('hex').replace(/../g, '=$&').toUpperCase().replace(/.{75}/g, '$&=\r\n'),
  ],
  ['binary', 'itself', (bytes: Buffer) => bytes],
])('a file in %s, as %s, is stored as the file that it is', async (encoding, _how, encode) => {
  const bytes = randomBytes(1_000_000)
  const head = part('name="file"; filename="a.txt"', '', [`Content-Transfer-Encoding: ${encoding}`])
  const body = [NAME_PART, head.slice(0, -2), encode(bytes), `\r\n${END}`].map((one) => Buffer.from(one))
  expect((await raw(Buffer.concat(body))).status).toBe(200)
  expect(uploads[0]).toMatchObject({
    bytes: 1_000_000,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  })
})

test('a file in an unknown encoding is a 415', async () => {
  const { status, body } = await raw(
    NAME_PART +
      part('name="file"; filename="a.txt"', 'hello', ['Content-Transfer-Encoding: x-uuencode']) +
      END,
  )
  expect([status, JSON.parse(body).detail]).toEqual([
    415,
    'The Content-Transfer-Encoding x-uuencode of a part is not supported. Use base64, quoted-printable, 7bit, 8bit or binary.',
  ])
  expect(uploads).toEqual([])
})

test.each<[string, string, Record<string, string[]>]>([
  [
    'only an input that was left empty',
    NAME_PART + EMPTY_INPUT.replace('other', 'file'),
    { file: ['The file field is required.'] },
  ],
  [
    'a file called constructor',
    NAME_PART + FILE_PART + part('name="constructor"; filename="a.txt"', 'x'),
    { constructor: ['Send exactly one file, in the field file.'] },
  ],
  [
    'a file without a name',
    NAME_PART + part('name="file"; filename=""', 'x'),
    { file: ['The file must have a name.'] },
  ],
])('a form with %s is a 422', async (_what, parts, errors) => {
  const { status, body } = await raw(parts + END)
  expect([status, JSON.parse(body).errors]).toEqual([422, errors])
  expectNothingKept()
})

const NOT_NAMED =
  'The Content-Type needs the boundary of the parts. Let your HTTP library set the Content-Type.'
const NOT_FOUND =
  'The body does not contain the boundary that the Content-Type names. Let your HTTP library set the Content-Type.'
const NOT_ENDED = 'The body ends before its closing boundary. Send the whole body.'

test.each<[string, string, string, string?]>([
  ['no boundary named', NAME_PART + FILE_PART + END, NOT_NAMED, 'multipart/form-data'],
  ['an empty boundary', NAME_PART + FILE_PART + END, NOT_NAMED, 'multipart/form-data; boundary='],
  [
    'a boundary without an end',
    NAME_PART + FILE_PART + END,
    NOT_NAMED,
    `multipart/form-data; boundary=${'b'.repeat(253)}`,
  ],
  ['another boundary', (NAME_PART + FILE_PART + END).replaceAll('XX', 'YY'), NOT_FOUND],
  ['no boundary in it', 'hello', NOT_FOUND],
  ['no final boundary', NAME_PART + FILE_PART, NOT_ENDED],
  ['half a final boundary', `${NAME_PART}${FILE_PART}--XX-`, NOT_ENDED],
  ['truncated in a header', '--XX\r\nContent-Disposition: form-data; na', NOT_ENDED],
  [
    'a part without a name',
    part('x="y"', 'n') + FILE_PART + END,
    'Every part of a multipart body must have a name.',
  ],
  [
    'a name that is not UTF-8',
    part('name="name"', '\xe9') + FILE_PART + END,
    'The body is not well-formed UTF-8.',
  ],
  [
    'a file name that is not UTF-8',
    NAME_PART + part('name="file"; filename="\xe9.txt"', 'x') + END,
    'The body is not well-formed UTF-8.',
  ],
  [
    'broken JSON',
    part('name="name"', 'n', ['Content-Type: application/json']) + FILE_PART + END,
    'The body is not well-formed JSON.',
  ],
])('a form with %s is a 400 that says so, and nothing is kept', async (_name, text, detail, type = MULTIPART) => {
  const answer = await raw(Buffer.from(text, 'latin1'), type)
  expect([answer.status, JSON.parse(answer.body).detail]).toEqual([400, detail])
  expectNothingKept()
})

test.each([
  'multipart/form-data; boundary="X X"',
  'Multipart/Form-Data; Boundary=X X',
  'multipart/form-data; charset=utf-8; boundary="X X"; x=y',
])('a boundary is found in %s', async (type) => {
  expect((await raw((NAME_PART + FILE_PART + END).replaceAll('XX', 'X X'), type)).status).toBe(200)
})

test('as another type it is a 415, without a body a 422', async () => {
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

test('when the record is refused the bytes are deleted; when that is unknown, they stay', async () => {
  refuseRecord = new ServiceError('not_found', 'There is no such lead.')
  expect((await attach(['name', 'n'], FILE)).status).toBe(404)
  expect(deleted).toEqual(['attachments/1.txt'])
  refuseRecord = new ServiceError('unavailable', 'unavailable')
  expect((await attach(['name', 'n'], FILE)).status).toBe(503)
  expect(deleted).toEqual(['attachments/1.txt'])
})

describe('under an Idempotency-Key', () => {
  const under = (key: string, ...parts: Part[]) => post(form(...parts), { 'idempotency-key': key })

  test('the same form is answered as the first time, in either order of fields, and its file is deleted', async () => {
    const first = await under('same', ['name', 'n'], FILE)
    expect(deleted).toEqual([])
    const second = await under('same', FILE, ['name', 'n'])
    expect([first.status, second.status, second.body]).toEqual([200, 200, first.body])
    const replayed = [first, second].map(({ headers }) => headers.get('idempotency-replayed'))
    expect(replayed).toEqual([null, 'true'])
    expect(records).toHaveLength(2)
    expect(deleted).toHaveLength(1)
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
    expect(deleted).toHaveLength(1)
  })

  test('one still in flight is a 409, and its file is deleted', async () => {
    refuseRecord = new ServiceError('conflict', 'Still in flight.', { retryAfterS: 1 })
    const { status, headers } = await under('busy', ['name', 'n'], FILE)
    expect([status, headers.get('retry-after')]).toEqual([409, '1'])
    expect(deleted).toHaveLength(1)
  })
})
