import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { SAMPLES } from '../formats/samples.fixture'
import {
  downloadWhole,
  type FilesServerInFolder,
  MEBIBYTE,
  renderUploadPath,
  repeated,
  startFilesServerInFolder,
  TEXT,
  TOKEN,
} from './files-server.fixture'

let server: FilesServerInFolder

beforeEach(async () => {
  server = await startFilesServerInFolder()
})

afterEach(async () => {
  await server.stop()
  await server.removeFolder()
})

const store = async (bytes = SAMPLES['png']!) => (await server.upload({ name: 'a.png', chunks: [bytes] })).key
const storeLarge = async () =>
  (await server.upload({ name: 'a.txt', chunks: repeated(TEXT, 10 * MEBIBYTE) })).key

describe('authentication and health', () => {
  test.each([
    '',
    'Bearer another-token-altogether',
    TOKEN,
  ])('every operation refuses the authorization %j', async (authorization) => {
    for (const [method, path] of [
      ['POST', renderUploadPath({ name: 'a.txt' })],
      ['GET', `/files/attachments/${randomUUID()}.png`],
      ['DELETE', `/files/attachments/${randomUUID()}.png`],
    ] as const) {
      const { status, type, body } = await server.ask(method, path, { authorization })
      expect([status, type]).toEqual([401, 'application/problem+json; charset=utf-8'])
      expect(JSON.parse(body)).toMatchObject({ type: '/problems#unauthenticated', status: 401 })
    }
  })

  test('health needs no token, and reports a missing store', async () => {
    expect(await server.ask('GET', '/healthz')).toMatchObject({ status: 200 })
    // On a busy machine, a check may take longer than its limit.
    await eventually(async () => expect(await server.ask('GET', '/readyz')).toMatchObject({ status: 200 }))
    await rm(server.folder, { recursive: true })
    expect(await server.ask('GET', '/healthz')).toMatchObject({ status: 200 })
    const { status, body } = await server.ask('GET', '/readyz')
    expect([status, JSON.parse(body)]).toEqual([503, { status: 'not ready', missing: ['store'] }])
  })

  test('an unknown address is a problem document too', async () => {
    expect(await server.ask('GET', '/nowhere')).toMatchObject({
      status: 404,
      type: 'application/problem+json; charset=utf-8',
    })
  })
})

describe('downloads', () => {
  test('are read no faster than the client reads them', async () => {
    const key = await storeLarge()
    const sent = async () => {
      const { values } = await server.metrics.getSingleMetric('files_bytes_total')!.get()
      return values.find(({ labels }) => labels['direction'] === 'out')?.value ?? 0
    }
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`GET /files/${key} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`)
    await once(socket, 'data')
    socket.pause()
    let before = -1
    await eventually(
      async () => {
        const now = await sent()
        const unchanged = now === before
        before = now
        expect(unchanged).toBe(true)
      },
      { everyMs: 50 },
    )
    // The server has read only as much of the file as the buffers at both ends of the connection can hold.
    expect(before).toBeLessThan(9 * MEBIBYTE)
    socket.destroy()
  })

  test('the file is closed when a client disconnects during a download', async () => {
    const key = await storeLarge()
    const openFiles = async () => {
      const links = await readdir('/proc/self/fd')
      const targets = await Promise.all(
        links.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
      )
      return targets.filter((target) => target.includes(key))
    }
    const response = await server.download(key)
    expect(await openFiles()).toHaveLength(1)
    response.destroy()
    await eventually(async () => expect(await openFiles()).toEqual([]))
  })

  test.each([
    ['is unused', () => `attachments/${randomUUID()}.png`],
    ['leads out of the store', () => `../attachments/${randomUUID()}.png`],
    ['leads out of its folder', (key: string) => key.replace('/', '/../attachments/')],
    ['is absolute', (key: string) => join(server.folder, key)],
    ['has a NUL', (key: string) => `${key}\0`],
    ['has a line end', (key: string) => `${key}\n`],
    ['is in capitals', (key: string) => key.toUpperCase()],
    ['has another extension', (key: string) => key.replace('.png', '.exe')],
    ['is a folder', () => 'attachments'],
    ['is empty', () => ''],
  ])('a key that %s is not found', async (_what, keyFrom) => {
    const key = keyFrom(await store())
    await expect(downloadWhole(server, key)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a symbolic link in the store is not followed', async () => {
    const name = `attachments/${randomUUID()}.txt`
    await store()
    await writeFile(join(server.folder, 'secret'), 'secret')
    await symlink('../secret', join(server.folder, name))
    await expect(downloadWhole(server, name)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a deleted file is gone. Deleting it again succeeds; deleting a malformed key fails', async () => {
    const key = await store(Buffer.concat([SAMPLES['png']!, randomBytes(10)]))
    await server.delete(key)
    await server.delete(key)
    await expect(downloadWhole(server, key)).rejects.toMatchObject({ code: 'not_found' })
    expect(await server.filesLeft()).toEqual([])
    await expect(server.delete('../a')).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('every operation reports an unavailable store', async () => {
  const key = await store()
  await rm(server.folder, { recursive: true })
  const unavailable = { code: 'unavailable' }
  await expect(store()).rejects.toMatchObject(unavailable)
  await expect(downloadWhole(server, key)).rejects.toMatchObject(unavailable)
  await expect(server.delete(key)).rejects.toMatchObject(unavailable)
  expect(await server.outcomes()).toEqual({ kept: 1, unavailable: 1 })
})
