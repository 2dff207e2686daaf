import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, gate, objectStoreDirectory } from '@leadwire/test-kit'
import { createDirectoryStore } from '../store/directory-store'
import { renderUploadPath, repeated, startFilesServer, TEXT, TOKEN } from './files-server.fixture'
import { createSpoolSpace } from './spool-space'
import { SPOOL_PREFIX, sweepSpool } from './spool-upload'

const MAX_BYTES = 16 * TEXT.length

const startServer = async () => {
  const directory = await objectStoreDirectory()
  const store = createDirectoryStore(directory.path)
  const space = createSpoolSpace(MAX_BYTES)
  const server = await startFilesServer(store, { space })
  return {
    ...server,
    sweep: (now: number) => sweepSpool(store.spoolFolder, space, () => now),
    folder: store.spoolFolder,
    stop: async () => {
      await server.stop()
      await directory.remove()
    },
  }
}

type Server = Awaited<ReturnType<typeof startServer>>
let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const upload = (chunks: number) =>
  server.upload({ name: 'a.txt', chunks: repeated(TEXT, chunks * TEXT.length) }).then(
    () => 'kept',
    ({ code }) => code,
  )

/** Returns the number of bytes that the server has received. */
const countReceived = async (): Promise<number> => {
  const { values } = await server.metrics.getSingleMetric('files_bytes_total')!.get()
  return values.find(({ labels }) => labels['direction'] === 'in')?.value ?? 0
}

test('uploads never take more disk space than the limit, and free it when they end', async () => {
  const released = gate()
  const slow = async function* () {
    yield* repeated(TEXT, 10 * TEXT.length)
    await released.opened
    yield TEXT
  }
  const first = server.upload({ name: 'slow.txt', chunks: slow() })
  await eventually(async () => expect(await countReceived()).toBe(10 * TEXT.length))
  expect(await upload(7)).toBe('unavailable')
  expect(await upload(5)).toBe('kept')
  released.open()
  await first
  expect(await upload(16)).toBe('kept')
  expect(await upload(17)).toBe('unavailable')
  expect(await upload(16)).toBe('kept')
})

test('the response to a refused upload is a 503 with Retry-After', async () => {
  const response = await fetch(`http://127.0.0.1:${server.port}${renderUploadPath({ name: 'a.txt' })}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: new Uint8Array(Buffer.alloc(17 * TEXT.length, TEXT)),
  })
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
})

test('files that a killed process left count against the limit until they are swept', async () => {
  const left = join(server.folder, `${SPOOL_PREFIX}left`)
  await writeFile(left, Buffer.alloc(10 * TEXT.length))
  await server.sweep(Date.now())
  expect([await upload(7), await upload(6)]).toEqual(['unavailable', 'kept'])
  await server.sweep(Date.now() + 3_601_000)
  expect(await upload(16)).toBe('kept')
  await rm(left, { force: true })
})
