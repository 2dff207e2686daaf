import { createHash, pbkdf2, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { docxParts, INVALID, SAMPLES, TEXTS, VALID, WRITTEN_FILES } from '../formats/samples.fixture'
import { makeZip } from '../formats/zip.fixture'
import { createDirectoryStore } from '../store/directory-store'
import {
  ALL_FORMATS,
  createClient,
  downloadWhole,
  type FilesServerInFolder,
  listErrors,
  MEBIBYTE,
  renderUploadPath,
  repeated,
  type Sent,
  startFilesServer,
  startFilesServerInFolder,
  TOKEN,
  TEXT as text,
} from './files-server.fixture'

let server: FilesServerInFolder

beforeEach(async () => {
  server = await startFilesServerInFolder()
})

afterEach(async () => {
  await server.stop()
  await server.removeFolder()
})

const upload = (file: Sent) => server.upload(file)
const uploadBytes = (name: string, bytes: Buffer, rest: Partial<Sent> = {}) =>
  upload({ name, chunks: [bytes], ...rest })
const uploadAndListErrors = (name: string, bytes: Buffer, rest: Partial<Sent> = {}) =>
  listErrors(uploadBytes(name, bytes, rest))
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

describe('the type of a file', () => {
  test.each(ALL_FORMATS)('%s is stored under a new key and comes back unchanged', async (format) => {
    const { extension, contentType } = FILE_FORMATS[format as keyof typeof FILE_FORMATS]
    const bytes = SAMPLES[format]!
    const response = await uploadBytes(`My file.${extension}`, bytes)
    expect(response).toEqual({
      key: expect.stringMatching(new RegExp(`^attachments/${UUID}\\.${extension}$`)),
      size: bytes.length,
      content_type: contentType,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(await downloadWhole(server, response.key)).toEqual({
      size: bytes.length,
      type: contentType,
      bytes,
    })
  })

  test.each(ALL_FORMATS)('%s under the extension of any other format is refused', async (format) => {
    const others = ALL_FORMATS.filter((other) => other !== format)
    const { extension } = FILE_FORMATS[format as FileFormat]
    const errors = await Promise.all(
      others.map((other) => uploadAndListErrors(`a.${other}`, SAMPLES[format]!)),
    )
    expect(errors).toEqual(
      others.map((other) => [
        `The file extension .${other} does not match its content (${format}). Use the extension .${extension}.`,
      ]),
    )
    expect(await server.filesLeft()).toEqual([])
  })

  test.each(VALID)('taken: %s', async (_what, name, bytes) => {
    expect(await uploadAndListErrors(name, bytes)).toEqual([])
  })

  test.each(WRITTEN_FILES)('taken: %s', async (name, bytes) => {
    expect(await uploadAndListErrors(name, bytes)).toEqual([])
  })

  test.each(TEXTS)('text in %s is accepted', async (_what, bytes, type) => {
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    for (const sent of [[bytes], chunks])
      expect(await upload({ name: 'a.txt', chunks: sent })).toMatchObject({ content_type: type })
  })

  const ANY = 'The file must be a file of type: jpeg, png, gif, svg, pdf, txt, xlsx, docx.'

  test.each(INVALID)('refused: %s', async (_what, name, bytes, why = ANY) => {
    expect(await uploadAndListErrors(name, bytes)).toEqual([why])
    expect(await server.filesLeft()).toEqual([])
  })

  test('an HTML page called .svg is refused as text', async () => {
    const pages = [
      '<!doctype html><svg></svg>',
      '<!DOCTYPE html><svg></svg>',
      '<html><svg></svg></html>',
      'a <svg>',
    ]
    for (const page of pages) {
      expect(await uploadAndListErrors('a.svg', Buffer.from(page))).toEqual([
        'The file extension .svg does not match its content (txt). Use the extension .txt.',
      ])
    }
  })

  test('only the requested formats are accepted', async () => {
    expect(await uploadAndListErrors('a.pdf', SAMPLES['pdf']!, { formats: 'jpeg,png' })).toEqual([
      'The file must be a file of type: jpeg, png.',
    ])
  })

  const JPEG = '.jpg, .jpeg, .jpe, .jfif, .jif, .pjpeg or .pjp.'

  test.each([
    ['photo', `The file name must have an extension: ${JPEG}`],
    ['.jpg', `The file name must have an extension: ${JPEG}`],
    ['photo.', `The file name must have an extension: ${JPEG}`],
    ['photo.<b>', 'The file extension does not match its content (jpeg). Use the extension .jpg.'],
    ['photo.jpg.EXE', 'The file extension .exe does not match its content (jpeg). Use the extension .jpg.'],
  ])('a name without a matching extension is refused: %s', async (name, error) => {
    expect(await uploadAndListErrors(name, SAMPLES['jpeg']!)).toEqual([error])
  })

  test('text is recognised when chunks end inside a character', async () => {
    const bytes = Buffer.from('🏠é'.repeat(50))
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    expect(await listErrors(upload({ name: 'a.txt', chunks }))).toEqual([])
  })
})

describe('the size of a file', () => {
  test('a file of exactly the limit is stored in full', async () => {
    const response = await upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
    expect(response.size).toBe(10 * MEBIBYTE)
    const { size, bytes } = await downloadWhole(server, response.key)
    expect(size).toBe(10 * MEBIBYTE)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(response.sha256)
  })

  test('a file of one byte more is refused, and nothing is left', async () => {
    await expect(upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE + 1) })).rejects.toMatchObject({
      code: 'too_large',
      detail: 'The file must not be larger than 10 MiB.',
    })
    expect(await server.filesLeft()).toEqual([])
    expect(await server.outcomes()).toEqual({ too_large: 1 })
  })

  test('a file that is too large is refused at once, even if the client would send for ever', async () => {
    const endless = function* () {
      for (;;) yield text
    }
    await expect(upload({ name: 'a.txt', chunks: endless(), max_bytes: 100_000 })).rejects.toMatchObject({
      code: 'too_large',
      detail: 'The file must not be larger than 100000 bytes.',
    })
    await eventually(async () => expect(await server.filesLeft()).toEqual([]))
  })

  test('an empty file is refused', async () => {
    for (const chunks of [[], [Buffer.alloc(0)]]) {
      expect(await listErrors(upload({ name: 'a.txt', chunks }))).toEqual(['The file must not be empty.'])
    }
    expect(await server.filesLeft()).toEqual([])
  })
})

describe('an upload that fails', () => {
  test.each<[string, Partial<Sent>]>([
    ['a collection that is a path', { collection: '../etc' }],
    ['no collection', { collection: '' }],
    ['an unknown format', { formats: 'png,exe' }],
    ['no formats', { formats: '' }],
    ['no limit', { max_bytes: 0 }],
    ['a limit that is not a number', { max_bytes: 'x' as never }],
  ])('%s is a bad request', async (_what, terms) => {
    await expect(uploadBytes('a.png', SAMPLES['png']!, terms)).rejects.toMatchObject({ code: 'bad_request' })
    expect(await server.filesLeft()).toEqual([])
  })

  /** Yields two chunks and never ends, as a client does that stalls in the middle of a file. */
  const stalling = async function* () {
    yield text
    yield text
    await new Promise(() => undefined)
  }

  test('a client that disconnects during the upload leaves nothing behind', async () => {
    const controller = new AbortController()
    const uploading = server.upload({ name: 'a.txt', chunks: stalling() }, controller.signal)
    const ended = expect(uploading).rejects.toThrow()
    await eventually(async () => expect(await server.filesLeft()).toHaveLength(1))
    controller.abort()
    await ended
    await eventually(async () => expect(await server.outcomes()).toEqual({ cancelled: 1 }))
    expect(await server.filesLeft()).toEqual([])
  })

  test('a client that stops sending times out, and leaves nothing behind', async () => {
    const strict = await startFilesServer(createDirectoryStore(server.folder), { idleMs: 100 })
    try {
      await expect(strict.upload({ name: 'a.txt', chunks: stalling() })).rejects.toThrow()
      await eventually(async () => expect(await server.filesLeft()).toEqual([]))
    } finally {
      await strict.stop()
    }
  })

  test.each([
    ['text', 'a.txt', () => Buffer.alloc(10 * MEBIBYTE, text)],
    [
      'archive',
      'a.docx',
      () =>
        makeZip({
          ...docxParts,
          ...Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`word/${index}`, ''])),
        }),
    ],
  ])('a client that disconnects after its last byte ends the check of a large %s', async (_what, name, make) => {
    const bytes = make()
    const socket = connect(server.port, '127.0.0.1')
    const head = `POST ${renderUploadPath({ name })} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n`
    socket.write(`${head}content-length: ${bytes.length}\r\n\r\n`)
    socket.end(bytes)
    await eventually(async () => expect(await server.outcomes()).toEqual({ cancelled: 1 }))
    // A file that the server has already stored is deleted a moment later.
    await eventually(async () => expect(await server.filesLeft()).toEqual([]))
    socket.destroy()
  })

  test('a check that takes too long times out, and leaves nothing behind', async () => {
    const strict = await startFilesServer(createDirectoryStore(server.folder), { detectionMs: 1 })
    try {
      const uploading = strict.upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
      await expect(uploading).rejects.toMatchObject({ code: 'unavailable' })
      expect(await server.filesLeft()).toEqual([])
    } finally {
      await strict.stop()
    }
  })

  test('a server that stops right after its clients disconnected still removes their files', async () => {
    const controllers = Array.from({ length: 40 }, () => new AbortController())
    const client = createClient(server.port)
    const uploads = controllers.map(({ signal }) =>
      client.upload({ name: 'a.txt', chunks: stalling() }, signal),
    )
    const ended = Promise.allSettled(uploads)
    await eventually(async () => expect(await server.filesLeft()).toHaveLength(40))
    for (const controller of controllers) controller.abort()
    await ended
    await server.stop()
    expect(await server.filesLeft()).toEqual([])
  })

  test('many uploads that are refused at their first bytes leave nothing behind on a busy machine', async () => {
    // Keeps the four threads busy on which Node opens and removes files. If the server did not wait, it would
    // then remove the file of a refused upload before Node has created the file.
    let waiting = 0
    const onDone = () => {
      waiting -= 1
    }
    const busy = setInterval(() => {
      // Limits the waiting tasks. If a slow machine got more tasks than it can do, each operation on a file
      // would wait longer than the one before.
      for (let task = 0; task < 4 && waiting < 100; task += 1) {
        waiting += 1
        pbkdf2('a', 'b', randomInt(300, 1300), 64, 'sha512', onDone)
      }
    }, 1)
    try {
      for (let round = 0; round < 4; round += 1) {
        const refused = () => upload({ name: 'a.txt', chunks: [text], max_bytes: 10 })
        for (const outcome of await Promise.allSettled(Array.from({ length: 100 }, refused)))
          expect(outcome).toMatchObject({ reason: { code: 'too_large' } })
      }
      expect(await server.filesLeft()).toEqual([])
    } finally {
      clearInterval(busy)
    }
  })

  test('an error response reaches a client that continues to send, and the connection stays usable', async () => {
    // More than the buffers between client and server can hold, but little enough for the 5 s in which the
    // server discards the rest of a body.
    const size = 20 * MEBIBYTE
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    const head = `POST ${renderUploadPath({ name: 'a.txt', max_bytes: 10 })} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n`
    socket.write(`${head}content-length: ${size}\r\n\r\n`)
    socket.write(text)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 .*The file must not be larger than 10 bytes/s)
    for (let left = size - text.length; left > 0; left -= text.length) {
      if (!socket.write(text)) await once(socket, 'drain')
    }
    socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const [next] = await once(socket, 'data')
    expect(String(next)).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
    expect(await server.filesLeft()).toEqual([])
  })
})

describe('many at once', () => {
  test('forty uploads of 10 MiB each need little memory, and all are stored in full', async () => {
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 10)
    // Uses long time limits. Other specs use the disk at the same time, so checking and storing may take longer
    // than the default limits.
    const patient = await startFilesServerInFolder({ detectionMs: 300_000, idleMs: 300_000 })
    const file = () => ({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
    const responses = await Promise.all(Array.from({ length: 40 }, () => patient.upload(file())))
    clearInterval(watch)
    expect(new Set(responses.map(({ key }) => key)).size).toBe(40)
    expect(new Set(responses.map(({ sha256 }) => sha256)).size).toBe(1)
    expect(await patient.filesLeft()).toHaveLength(40)
    await patient.stop()
    await patient.removeFolder()
    // The 40 files have 400 MiB together. A growth of less than 300 MiB shows that the files are never all in
    // memory, although client and server share this process.
    expect((peak - before) / MEBIBYTE).toBeLessThan(300)
    // Sending, hashing and writing 400 MiB takes minutes on a busy machine.
  }, 600_000)
})
