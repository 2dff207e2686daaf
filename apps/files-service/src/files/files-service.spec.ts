import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { FORMATS } from '../formats/formats'
import { FOREIGN, SAMPLES, SOUND } from '../formats/samples.fixture'
import { createDirectoryStore } from '../store/directory-store'
import {
  ALL_FORMATS,
  connectFiles,
  downloaded,
  type FilesServer,
  MEBIBYTE,
  repeated,
  type Sent,
  startFilesServer,
  streamOf,
  type UploadMessage,
  uploadMessages,
} from './files-server.fixture'

let directory: ObjectStoreDirectory
let server: FilesServer

beforeEach(async () => {
  directory = await objectStoreDirectory()
  server = await startFilesServer(createDirectoryStore(directory.path))
})

afterEach(async () => {
  await server.stop()
  await directory.remove()
})

const upload = (file: Sent) => server.client.upload(streamOf(uploadMessages(file)))
const uploadBytes = (name: string, bytes: Buffer, rest: Partial<Sent> = {}) =>
  upload({ name, chunks: [bytes], ...rest })
const sendMessages = (messages: UploadMessage[]) => server.client.upload(streamOf(messages))
const filesLeft = async () =>
  (await readdir(directory.path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
const outcomes = async () =>
  Object.fromEntries(
    (await server.metrics.getSingleMetric('files_uploads_total')!.get()).values.map(({ labels, value }) => [
      labels['outcome'],
      value,
    ]),
  )
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
const text = Buffer.alloc(64 * 1024, 'All work and no play makes a dull file.\n')

describe('the type of a file', () => {
  test.each(ALL_FORMATS)('%s is kept under a key of its own and comes back as it was', async (format) => {
    const { extension, contentType } = FORMATS[format as keyof typeof FORMATS]
    const bytes = SAMPLES[format]!
    const response = await uploadBytes(`My file.${extension}`, bytes)
    expect(response).toEqual({
      faults: [],
      key: expect.stringMatching(new RegExp(`^attachments/${UUID}\\.${extension}$`)),
      size: bytes.length,
      contentType,
      sha256: createHash('sha256').update(bytes).digest(),
    })
    expect(await downloaded(server, response.key)).toEqual({ size: bytes.length, bytes })
  })

  test.each(ALL_FORMATS)('%s under the extension of any other format is refused', async (format) => {
    const others = ALL_FORMATS.filter((other) => other !== format)
    const faults = await Promise.all(
      others.map(async (other) => (await uploadBytes(`a.${other}`, SAMPLES[format]!)).faults),
    )
    expect(faults).toEqual(
      others.map((other) => [`The file extension .${other} does not match its content (${format}).`]),
    )
    expect(await filesLeft()).toEqual([])
  })

  test.each(SOUND)('taken: %s', async (_what, name, bytes) => {
    expect((await uploadBytes(name, bytes, { keep: false })).faults).toEqual([])
  })

  test.each(FOREIGN)('refused: %s', async (_what, name, bytes) => {
    expect(await uploadBytes(name, bytes)).toMatchObject({
      faults: ['The file must be a file of type: jpeg, png, gif, svg, pdf, txt, xlsx, docx.'],
      key: '',
    })
    expect(await filesLeft()).toEqual([])
  })

  test('an HTML page called .svg is text at best', async () => {
    const pages = [
      '<!doctype html><svg></svg>',
      '<!DOCTYPE html><svg></svg>',
      '<html><svg></svg></html>',
      'a <svg>',
    ]
    for (const page of pages) {
      expect((await uploadBytes('a.svg', Buffer.from(page))).faults).toEqual([
        'The file extension .svg does not match its content (txt).',
      ])
    }
  })

  test('only the formats the start message names are taken', async () => {
    expect((await uploadBytes('a.pdf', SAMPLES['pdf']!, { formats: ['jpeg', 'png'] })).faults).toEqual([
      'The file must be a file of type: jpeg, png.',
    ])
  })

  test.each([
    ['photo', 'The file name must have an extension: .jpg or .jpeg.'],
    ['.jpg', 'The file name must have an extension: .jpg or .jpeg.'],
    ['photo.', 'The file name must have an extension: .jpg or .jpeg.'],
    ['photo.<b>', 'The file extension does not match its content (jpeg).'],
    ['photo.jpg.EXE', 'The file extension .exe does not match its content (jpeg).'],
  ])('a name without a fitting extension is refused: %s', async (name, fault) => {
    expect((await uploadBytes(name, SAMPLES['jpeg']!)).faults).toEqual([fault])
  })

  test('letters cut by the borders of chunks are still text', async () => {
    const bytes = Buffer.from('🏠é'.repeat(50))
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    expect((await upload({ name: 'a.txt', chunks })).faults).toEqual([])
  })
})

describe('the size of a file', () => {
  test('exactly the limit is taken, in full', async () => {
    const response = await upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
    expect(response).toMatchObject({ faults: [], size: 10 * MEBIBYTE })
    const { size, bytes } = await downloaded(server, response.key)
    expect(size).toBe(10 * MEBIBYTE)
    expect(createHash('sha256').update(bytes).digest()).toEqual(response.sha256)
  })

  test('one byte more is too large, and nothing is left', async () => {
    await expect(upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE + 1) })).rejects.toMatchObject({
      code: 'too_large',
      detail: 'The file must not be larger than 10 MiB.',
    })
    expect(await filesLeft()).toEqual([])
    expect(await outcomes()).toEqual({ too_large: 1 })
  })

  test('too large is said at once, while the client would go on for ever', async () => {
    const endless = function* () {
      for (;;) yield text
    }
    await expect(upload({ name: 'a.txt', chunks: endless(), maxBytes: 100_000 })).rejects.toMatchObject({
      code: 'too_large',
      detail: 'The file must not be larger than 100000 bytes.',
    })
    await eventually(async () => expect(await filesLeft()).toEqual([]))
  })

  test('an empty file is refused', async () => {
    for (const chunks of [[], [Buffer.alloc(0)]]) {
      expect(await upload({ name: 'a.txt', chunks })).toMatchObject({
        faults: ['The file must not be empty.'],
        key: '',
        size: 0,
      })
    }
    expect(await filesLeft()).toEqual([])
  })
})

describe('an upload that is not to be kept', () => {
  test('keep=false judges and keeps nothing', async () => {
    const bytes = SAMPLES['png']!
    expect(await uploadBytes('a.png', bytes, { keep: false })).toEqual({
      faults: [],
      key: '',
      size: bytes.length,
      contentType: 'image/png',
      sha256: createHash('sha256').update(bytes).digest(),
    })
    expect(await filesLeft()).toEqual([])
    expect(await outcomes()).toEqual({ judged: 1 })
  })

  test.each([
    ['no finish', (sent: Sent) => [...uploadMessages(sent)].slice(0, -1)],
    ['nothing at all', () => []],
    ['no start', (sent: Sent) => [...uploadMessages(sent)].slice(1)],
    ['two starts', (sent: Sent) => [...uploadMessages(sent)].slice(0, 1).concat([...uploadMessages(sent)])],
    ['a message without a part', (sent: Sent) => [...[...uploadMessages(sent)].slice(0, 2), {}]],
    ['a collection that is a path', (sent: Sent) => [...uploadMessages({ ...sent, collection: '../etc' })]],
    ['no collection', (sent: Sent) => [...uploadMessages({ ...sent, collection: '' })]],
    ['an unknown format', (sent: Sent) => [...uploadMessages({ ...sent, formats: ['exe'] })]],
    ['no formats', (sent: Sent) => [...uploadMessages({ ...sent, formats: [] })]],
    ['no limit', (sent: Sent) => [...uploadMessages({ ...sent, maxBytes: 0 })]],
  ])('%s is a bad request', async (_what, messages) => {
    await expect(sendMessages(messages({ name: 'a.png', chunks: [SAMPLES['png']!] }))).rejects.toMatchObject({
      code: 'bad_request',
    })
    expect(await filesLeft()).toEqual([])
    expect(await outcomes()).toEqual({ bad_request: 1 })
  })

  test('a client that cancels in the middle leaves nothing behind', async () => {
    const controller = new AbortController()
    const stalling = async function* () {
      yield* [...uploadMessages({ name: 'a.txt', chunks: [text, text] })].slice(0, -1)
      await eventually(async () => expect(await filesLeft()).toHaveLength(1))
      controller.abort()
      await new Promise(() => undefined)
    }
    await expect(server.client.upload(stalling(), { signal: controller.signal })).rejects.toThrow()
    await eventually(async () => expect(await outcomes()).toEqual({ cancelled: 1 }))
    expect(await filesLeft()).toEqual([])
  })

  test('a client whose deadline passes leaves nothing behind', async () => {
    const stalling = async function* () {
      yield* [...uploadMessages({ name: 'a.txt', chunks: [text] })].slice(0, -1)
      await new Promise(() => undefined)
    }
    await expect(server.client.upload(stalling(), { deadline: 200 })).rejects.toMatchObject({ code: 'late' })
    await eventually(async () => expect(await outcomes()).toEqual({ cancelled: 1 }))
    expect(await filesLeft()).toEqual([])
  })
})

test('a client that dies in the middle of an upload leaves nothing behind', async () => {
  const sockets: Socket[] = []
  const wire = createServer((socket) => {
    const onward = connect(server.port, '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    for (const end of [socket, onward]) sockets.push(end.on('error', () => undefined))
  })
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve))
  const { client, close } = connectFiles((wire.address() as { port: number }).port)
  const dying = async function* () {
    yield* [...uploadMessages({ name: 'a.txt', chunks: [text, text] })].slice(0, -1)
    await eventually(async () => expect(await filesLeft()).toHaveLength(1))
    for (const socket of sockets) socket.destroy()
    await new Promise(() => undefined)
  }
  await expect(client.upload(dying())).rejects.toMatchObject({ code: 'unavailable' })
  await eventually(async () => expect(await outcomes()).toEqual({ cancelled: 1 }))
  expect(await filesLeft()).toEqual([])
  await close()
  wire.close()
})

test('a server that stops right after its clients left still tidies up', async () => {
  const { client, close } = connectFiles(server.port)
  const controllers = Array.from({ length: 40 }, () => new AbortController())
  const stalling = async function* () {
    yield* [...uploadMessages({ name: 'a.txt', chunks: [text, text] })].slice(0, -1)
    await new Promise(() => undefined)
  }
  const uploads = controllers.map(({ signal }) => client.upload(stalling(), { signal }))
  const ended = Promise.allSettled(uploads)
  await eventually(async () => expect(await filesLeft()).toHaveLength(40))
  for (const controller of controllers) controller.abort()
  await ended
  await server.stop()
  expect(await filesLeft()).toEqual([])
  await close()
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
    expect(new Set(responses.map(({ sha256 }) => Buffer.from(sha256).toString('hex'))).size).toBe(1)
    expect(await filesLeft()).toHaveLength(40)
    // Client and server share this process; the files alone would be 400 MiB.
    expect((peak - before) / MEBIBYTE).toBeLessThan(300)
    // 400 MiB are sent, hashed and written: on a busy machine that takes minutes.
  }, 600_000)
})

describe('downloads', () => {
  const kept = async (bytes = SAMPLES['png']!) => (await uploadBytes('a.png', bytes)).key

  test('come in chunks of 64 KiB at most', async () => {
    const { key } = await upload({ name: 'a.txt', chunks: repeated(text, 300_000) })
    const sizes: number[] = []
    for await (const { part } of server.client.download({ key })) {
      if (part?.$case === 'chunk') sizes.push(part.value.length)
    }
    expect(Math.max(...sizes)).toBe(64 * 1024)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(300_000)
  })

  test('a client that leaves in the middle has the file closed', async () => {
    const { key } = await upload({ name: 'a.txt', chunks: repeated(text, 10 * MEBIBYTE) })
    const openFiles = async () => {
      const links = await readdir('/proc/self/fd')
      const targets = await Promise.all(
        links.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
      )
      return targets.filter((target) => target.includes(key))
    }
    for await (const { part } of server.client.download({ key })) {
      if (part?.$case !== 'chunk') continue
      expect(await openFiles()).toHaveLength(1)
      break
    }
    await eventually(async () => expect(await openFiles()).toEqual([]))
  })

  test.each([
    ['nobody has', () => `attachments/${randomUUID()}.png`],
    ['leads out', () => `../attachments/${randomUUID()}.png`],
    ['leads out further in', (key: string) => key.replace('/', '/../attachments/')],
    ['is absolute', (key: string) => join(directory.path, key)],
    ['has a NUL', (key: string) => `${key}\0`],
    ['has a line end', (key: string) => `${key}\n`],
    ['is in capitals', (key: string) => key.toUpperCase()],
    ['has another extension', (key: string) => key.replace('.png', '.exe')],
    ['is a folder', () => 'attachments'],
    ['is empty', () => ''],
  ])('a key that %s is not found', async (_what, keyFrom) => {
    const key = keyFrom(await kept())
    await expect(downloaded(server, key)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a symbolic link in the store is not followed', async () => {
    const name = `attachments/${randomUUID()}.txt`
    await kept()
    await writeFile(join(directory.path, 'secret'), 'secret')
    await symlink('../secret', join(directory.path, name))
    await expect(downloaded(server, name)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a deleted file is gone; deleting it again is no failure, deleting what is no key is', async () => {
    const key = await kept(Buffer.concat([SAMPLES['png']!, randomBytes(10)]))
    await server.client.delete({ key })
    await server.client.delete({ key })
    await expect(downloaded(server, key)).rejects.toMatchObject({ code: 'not_found' })
    expect(await filesLeft()).toEqual([])
    await expect(server.client.delete({ key: '../a' })).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('a store that is away is said to be away, by every operation', async () => {
  const { key } = await uploadBytes('a.png', SAMPLES['png']!)
  await rm(directory.path, { recursive: true })
  const away = { code: 'unavailable' }
  await expect(uploadBytes('a.png', SAMPLES['png']!)).rejects.toMatchObject(away)
  await expect(downloaded(server, key)).rejects.toMatchObject(away)
  await expect(server.client.delete({ key })).rejects.toMatchObject(away)
  expect(await outcomes()).toEqual({ kept: 1, unavailable: 1 })
})
