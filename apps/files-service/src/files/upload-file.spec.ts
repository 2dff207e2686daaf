import { createHash, pbkdf2, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { FILE_FORMATS } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { FOREIGN, SAMPLES, SOUND, TEXTS, WRITTEN_FILES } from '../formats/samples.fixture'
import { createDirectoryStore } from '../store/directory-store'
import {
  ALL_FORMATS,
  clientOf,
  downloaded,
  errorsIn,
  type FilesServerInFolder,
  MEBIBYTE,
  pathOf,
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
const errorsOf = (name: string, bytes: Buffer, rest: Partial<Sent> = {}) =>
  errorsIn(uploadBytes(name, bytes, rest))
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

describe('the type of a file', () => {
  test.each(ALL_FORMATS)('%s is kept under a key of its own and comes back as it was', async (format) => {
    const { extension, contentType } = FILE_FORMATS[format as keyof typeof FILE_FORMATS]
    const bytes = SAMPLES[format]!
    const response = await uploadBytes(`My file.${extension}`, bytes)
    expect(response).toEqual({
      key: expect.stringMatching(new RegExp(`^attachments/${UUID}\\.${extension}$`)),
      size: bytes.length,
      content_type: contentType,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(await downloaded(server, response.key)).toEqual({ size: bytes.length, type: contentType, bytes })
  })

  test.each(ALL_FORMATS)('%s under the extension of any other format is refused', async (format) => {
    const others = ALL_FORMATS.filter((other) => other !== format)
    const errors = await Promise.all(others.map((other) => errorsOf(`a.${other}`, SAMPLES[format]!)))
    expect(errors).toEqual(
      others.map((other) => [`The file extension .${other} does not match its content (${format}).`]),
    )
    expect(await server.filesLeft()).toEqual([])
  })

  test.each(SOUND)('taken: %s', async (_what, name, bytes) => {
    expect(await errorsOf(name, bytes, { keep: false })).toEqual([])
  })

  test.each(WRITTEN_FILES)('taken: %s', async (name, bytes) => {
    expect(await errorsOf(name, bytes, { keep: false })).toEqual([])
  })

  test.each(TEXTS)('taken: text in %s', async (_what, bytes, type) => {
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    for (const sent of [[bytes], chunks])
      expect(await upload({ name: 'a.txt', chunks: sent, keep: false })).toMatchObject({ content_type: type })
  })

  const ANY = 'The file must be a file of type: jpeg, png, gif, svg, pdf, txt, xlsx, docx.'

  test.each(FOREIGN)('refused: %s', async (_what, name, bytes, why = ANY) => {
    expect(await errorsOf(name, bytes)).toEqual([why])
    expect(await server.filesLeft()).toEqual([])
  })

  test('an HTML page called .svg is text at best', async () => {
    const pages = [
      '<!doctype html><svg></svg>',
      '<!DOCTYPE html><svg></svg>',
      '<html><svg></svg></html>',
      'a <svg>',
    ]
    for (const page of pages) {
      expect(await errorsOf('a.svg', Buffer.from(page))).toEqual([
        'The file extension .svg does not match its content (txt).',
      ])
    }
  })

  test('only the formats that are asked for are taken', async () => {
    expect(await errorsOf('a.pdf', SAMPLES['pdf']!, { formats: 'jpeg,png' })).toEqual([
      'The file must be a file of type: jpeg, png.',
    ])
  })

  test.each([
    ['photo', 'The file name must have an extension: .jpg or .jpeg.'],
    ['.jpg', 'The file name must have an extension: .jpg or .jpeg.'],
    ['photo.', 'The file name must have an extension: .jpg or .jpeg.'],
    ['photo.<b>', 'The file extension does not match its content (jpeg).'],
    ['photo.jpg.EXE', 'The file extension .exe does not match its content (jpeg).'],
  ])('a name without a fitting extension is refused: %s', async (name, error) => {
    expect(await errorsOf(name, SAMPLES['jpeg']!)).toEqual([error])
  })

  test('letters cut by the borders of chunks are still text', async () => {
    const bytes = Buffer.from('🏠é'.repeat(50))
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    expect(await errorsIn(upload({ name: 'a.txt', chunks }))).toEqual([])
  })
})

describe('the size of a file', () => {
  test('exactly the limit is taken, in full', async () => {
    const response = await upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
    expect(response.size).toBe(10 * MEBIBYTE)
    const { size, bytes } = await downloaded(server, response.key)
    expect(size).toBe(10 * MEBIBYTE)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(response.sha256)
  })

  test('one byte more is too large, and nothing is left', async () => {
    await expect(upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE + 1) })).rejects.toMatchObject({
      code: 'too_large',
      detail: 'The file must not be larger than 10 MiB.',
    })
    expect(await server.filesLeft()).toEqual([])
    expect(await server.outcomes()).toEqual({ too_large: 1 })
  })

  test('too large is said at once, while the client would go on for ever', async () => {
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
      expect(await errorsIn(upload({ name: 'a.txt', chunks }))).toEqual(['The file must not be empty.'])
    }
    expect(await server.filesLeft()).toEqual([])
  })
})

describe('an upload that is not to be kept', () => {
  test('keep=false checks and keeps nothing', async () => {
    const bytes = SAMPLES['png']!
    expect(await uploadBytes('a.png', bytes, { keep: false, sha256: false })).toEqual({
      key: '',
      size: bytes.length,
      content_type: 'image/png',
      sha256: '',
    })
    expect(await server.filesLeft()).toEqual([])
    expect(await server.outcomes()).toEqual({ checked: 1 })
  })

  test.each<[string, Partial<Sent>]>([
    ['a collection that is a path', { collection: '../etc' }],
    ['no collection', { collection: '' }],
    ['an unknown format', { formats: 'png,exe' }],
    ['no formats', { formats: '' }],
    ['no limit', { max_bytes: 0 }],
    ['a limit that is no number', { max_bytes: 'x' as never }],
  ])('%s is a bad request', async (_what, terms) => {
    await expect(uploadBytes('a.png', SAMPLES['png']!, terms)).rejects.toMatchObject({ code: 'bad_request' })
    expect(await server.filesLeft()).toEqual([])
  })

  /** Sends two chunks, and nothing more. */
  const stalling = async function* () {
    yield text
    yield text
    await new Promise(() => undefined)
  }

  test('a client that disconnects in the middle leaves nothing behind', async () => {
    const controller = new AbortController()
    const uploading = server.upload({ name: 'a.txt', chunks: stalling() }, controller.signal)
    const ended = expect(uploading).rejects.toThrow()
    await eventually(async () => expect(await server.filesLeft()).toHaveLength(1))
    controller.abort()
    await ended
    await eventually(async () => expect(await server.outcomes()).toEqual({ cancelled: 1 }))
    expect(await server.filesLeft()).toEqual([])
  })

  test('a client that falls silent times out, and leaves nothing behind', async () => {
    const strict = await startFilesServer(createDirectoryStore(server.folder), { idleMs: 100 })
    try {
      await expect(strict.upload({ name: 'a.txt', chunks: stalling() })).rejects.toThrow()
      await eventually(async () => expect(await server.filesLeft()).toEqual([]))
    } finally {
      await strict.stop()
    }
  })

  test('a server that stops right after its clients left still tidies up', async () => {
    const controllers = Array.from({ length: 40 }, () => new AbortController())
    const client = clientOf(server.port)
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

  test('many that are refused at their first bytes leave nothing behind, though files are opened late', async () => {
    // Node opens and removes files on four threads: while they are busy, either may come first.
    const busy = setInterval(() => {
      for (let task = 0; task < 4; task += 1) pbkdf2('a', 'b', randomInt(300, 1300), 64, 'sha512', () => {})
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

  test('a refusal reaches a client that goes on sending, and the connection ends all the same', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    const head = `POST ${pathOf({ name: 'a.txt', max_bytes: 10 })} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n`
    socket.write(`${head}content-length: ${100 * MEBIBYTE}\r\n\r\n`)
    socket.write(text)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 .*The file must not be larger than 10 bytes/s)
    for (let left = 100 * MEBIBYTE - text.length; left > 0; left -= text.length) {
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
  test('forty uploads of 10 MiB each need little memory, and all are kept whole', async () => {
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 10)
    const responses = await Promise.all(
      Array.from({ length: 40 }, () => upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })),
    )
    clearInterval(watch)
    expect(new Set(responses.map(({ key }) => key)).size).toBe(40)
    expect(new Set(responses.map(({ sha256 }) => sha256)).size).toBe(1)
    expect(await server.filesLeft()).toHaveLength(40)
    // Client and server share this process; the files alone would be 400 MiB.
    expect((peak - before) / MEBIBYTE).toBeLessThan(300)
    // 400 MiB are sent, hashed and written: on a busy machine that takes minutes.
  }, 600_000)
})
