import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Watched } from '@leadwire/service-kit'
import {
  createAuthority,
  eventually,
  type ObjectStoreDirectory,
  objectStoreDirectory,
  startMinio as startContainer,
  type TestMinio,
  writeCertificate,
} from '@leadwire/test-kit'
import { downloaded, MEBIBYTE, repeated, startFilesServer } from '../files/files-server.fixture'
import { SPOOL_PREFIX } from '../files/spool-upload'
import { SAMPLES } from '../formats/samples.fixture'
import { type Minio, minioBinary, startMinio, whyNoMinio } from './minio.fixture'
import { itKeepsObjects } from './object-store.contract.fixture'
import { createS3Store } from './s3-store'

const UNAVAILABLE = { code: 'unavailable' }

if (minioBinary === undefined) console.warn(`SKIPPED: the specs of the S3 store. ${whyNoMinio}`)

;(minioBinary === undefined ? describe.skip : describe)('a store in a bucket of MinIO', () => {
  let directory: ObjectStoreDirectory
  let minio: Minio
  const bucketStore = (
    bucket: string,
    { authorities, ...given }: { authorities?: Watched<string> } & Partial<Minio> = {},
  ) => {
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = { ...minio, ...given }
    return createS3Store({
      ...{ endpoint, bucket, authorities, region: 'us-east-1' },
      credentials: async () => ({ accessKeyId, secretAccessKey }),
      spoolFolder: join(directory.path, 'spool'),
    })
  }
  const storeOf = () => bucketStore('leadwire')

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await mkdir(join(directory.path, 'spool'))
    minio = await startMinio(minioBinary!, join(directory.path, 'minio'))
    // It says it is ready a little before it takes work.
    await eventually(() => storeOf().prepare(), { describe: 'waiting for the bucket' })
  })
  afterAll(async () => {
    await minio.stop()
    await directory.remove()
  })

  itKeepsObjects(storeOf)

  const spool = async (bytes: Buffer) => {
    const path = join(directory.path, randomUUID())
    await writeFile(path, bytes)
    return { path, size: bytes.length, contentType: 'image/png' }
  }
  const newKey = () => `attachments/${randomUUID()}.png`

  test('trusts a store by the authority that is named, also when that is replaced, and by no other', async () => {
    const authority = await createAuthority()
    const certsDirectory = join(directory.path, 'certs')
    const names = { cert: 'public.crt', key: 'private.key' }
    await writeCertificate(certsDirectory, await authority.issue('minio'), names)
    const { cert: ca } = authority
    const encrypted = await startMinio(minioBinary!, join(directory.path, 'encrypted'), {
      certsDirectory,
      ca,
    })
    let current = (await createAuthority()).cert
    let replace = (_: string) => {}
    const authorities = {
      current: () => current,
      onChange: (listener: (ca: string) => void) => {
        replace = listener
      },
    }
    const store = bucketStore('leadwire', { ...encrypted, authorities })
    await expect(store.prepare()).rejects.toMatchObject(UNAVAILABLE)
    await expect(bucketStore('leadwire', encrypted).prepare()).rejects.toMatchObject(UNAVAILABLE)
    current = ca
    replace(ca)
    await eventually(() => store.prepare(), { describe: 'waiting for the bucket' })
    const key = newKey()
    await store.put(key, await spool(Buffer.from('bytes')))
    expect(await buffer((await store.get(key))!.bytes)).toEqual(Buffer.from('bytes'))
    const keys: string[] = []
    for await (const found of store.list({ before: new Date(Date.now() + 60_000) })) keys.push(found)
    expect(keys).toEqual([key])
    await encrypted.stop()
  })

  test('with keys that MinIO does not know it is unavailable, and says why', async () => {
    const store = bucketStore('leadwire', { secretKey: 'wrong-secret' })
    await expect(store.prepare()).rejects.toThrow('403')
    const [key, file] = [newKey(), await spool(SAMPLES['png']!)]
    for (const work of [() => store.put(key, file), () => store.get(key), () => store.delete(key)])
      await expect(work()).rejects.toMatchObject(UNAVAILABLE)
  })

  test('a bucket that is gone counts as unavailable until it is made again', async () => {
    const store = bucketStore('lost')
    await expect(store.put(newKey(), await spool(SAMPLES['png']!))).rejects.toMatchObject(UNAVAILABLE)
    await expect(store.get(newKey())).rejects.toMatchObject(UNAVAILABLE)
    await store.check()
    await store.put(newKey(), await spool(SAMPLES['png']!))
  })

  test('forty uploads of 10 MiB each need little memory, and spool files are removed', async () => {
    const server = await startFilesServer(storeOf())
    const chunk = Buffer.alloc(64 * 1024, 'All work and no play makes a dull file.\n')
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 10)
    const responses = await Promise.all(
      Array.from({ length: 40 }, () =>
        server.upload({ name: 'a.txt', chunks: repeated(chunk, 10 * MEBIBYTE) }),
      ),
    )
    clearInterval(watch)
    const { size, bytes } = await downloaded(server, responses[39]!.key)
    await server.stop()
    expect([size, bytes.length]).toEqual([10 * MEBIBYTE, 10 * MEBIBYTE])
    expect((peak - before) / MEBIBYTE).toBeLessThan(250)
    expect((await readdir(storeOf().spoolFolder)).filter((name) => name.startsWith(SPOOL_PREFIX))).toEqual([])
    // 400 MiB are sent, hashed and written: on a busy machine that takes minutes.
  }, 600_000)

  test('a MinIO that was killed is unavailable at once, and comes back by itself', async () => {
    const server = await startFilesServer(storeOf())
    const upload = () => server.upload({ name: 'a.png', chunks: [SAMPLES['png']!] })
    const { key } = await upload()
    await minio.kill()
    await expect(upload()).rejects.toMatchObject(UNAVAILABLE)
    await expect(downloaded(server, key)).rejects.toMatchObject(UNAVAILABLE)
    await expect(server.delete(key)).rejects.toMatchObject(UNAVAILABLE)
    await expect(storeOf().check()).rejects.toMatchObject(UNAVAILABLE)
    await minio.restart()
    // It says it is ready a little before it takes work.
    await eventually(() => storeOf().check())
    await upload()
    expect((await downloaded(server, key)).bytes.equals(SAMPLES['png']!)).toBe(true)
    await server.stop()
  })

  test('a MinIO that stopped answering counts as unavailable after a while', async () => {
    const file = await spool(randomBytes(1000))
    await minio.suspend()
    try {
      await expect(storeOf().put(newKey(), file)).rejects.toMatchObject(UNAVAILABLE)
    } finally {
      minio.resume()
    }
  })

  test('a download from a MinIO that stopped answering ends when its signal says so', async () => {
    const key = newKey()
    await storeOf().put(key, await spool(randomBytes(10 * MEBIBYTE)))
    const controller = new AbortController()
    const object = await storeOf().get(key, { signal: controller.signal })
    await minio.suspend()
    try {
      const reading = buffer(object!.bytes)
      controller.abort()
      await expect(reading).rejects.toThrow('abort')
    } finally {
      minio.resume()
    }
  })

  test('a MinIO that lost its disks gets its bucket back', async () => {
    await minio.kill()
    await rm(join(directory.path, 'minio'), { recursive: true })
    await mkdir(join(directory.path, 'minio'))
    await minio.restart()
    // It says it is ready a little before it takes work.
    await eventually(() => storeOf().check())
    await storeOf().put(newKey(), await spool(SAMPLES['png']!))
  })
})

// Where there is no program but a Docker engine answers, the contract at least runs against a container.
if (minioBinary === undefined && existsSync('/var/run/docker.sock')) {
  describe('a store in a bucket of a MinIO container', () => {
    let directory: ObjectStoreDirectory
    let container: TestMinio

    beforeAll(async () => {
      directory = await objectStoreDirectory()
      const started = await startContainer()
      if ('reason' in started) throw new Error(started.reason)
      container = started
    }, 300_000)
    afterAll(async () => {
      await container?.stop()
      await directory.remove()
    })

    itKeepsObjects(() => {
      const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey, ...rest } = container.store
      const credentials = async () => ({ accessKeyId, secretAccessKey })
      return createS3Store({ ...rest, credentials, endpoint: new URL(endpoint), spoolFolder: directory.path })
    })
  })
}
