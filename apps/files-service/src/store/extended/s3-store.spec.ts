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
import { downloadWhole, MEBIBYTE, repeated, startFilesServer } from '../../files/files-server.fixture'
import { SPOOL_PREFIX } from '../../files/spool-upload'
import { SAMPLES } from '../../formats/samples.fixture'
import { type Minio, minioBinary, startMinio, whyNoMinio } from '../minio.fixture'
import { testObjectStore } from '../object-store.contract.fixture'
import { createS3Store } from '../s3-store'

const UNAVAILABLE = { code: 'unavailable' }

if (minioBinary === undefined) console.warn(`SKIPPED: the specs of the S3 store. ${whyNoMinio}`)

;(minioBinary === undefined ? describe.skip : describe)('a store in a bucket of MinIO', () => {
  let directory: ObjectStoreDirectory
  let minio: Minio
  const bucketStore = (
    bucket: string,
    {
      authorities,
      silenceLimitMs,
      ...given
    }: { authorities?: Watched<string>; silenceLimitMs?: number } & Partial<Minio> = {},
  ) => {
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = { ...minio, ...given }
    return createS3Store({
      endpoint,
      bucket,
      authorities,
      region: 'us-east-1',
      credentials: async () => ({ accessKeyId, secretAccessKey }),
      spoolFolder: join(directory.path, 'spool'),
      ...(silenceLimitMs !== undefined && { silenceLimitMs }),
    })
  }
  const openStore = () => bucketStore('leadwire')

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await mkdir(join(directory.path, 'spool'))
    minio = await startMinio(minioBinary!, join(directory.path, 'minio'))
    // Retries, because MinIO reports ready shortly before it accepts requests.
    await eventually(() => openStore().prepare(), { describe: 'waiting for the bucket' })
  })
  afterAll(async () => {
    await minio.stop()
    await directory.remove()
  })

  testObjectStore(openStore)

  const spool = async (bytes: Buffer) => {
    const path = join(directory.path, randomUUID())
    await writeFile(path, bytes)
    return { path, size: bytes.length, contentType: 'image/png' }
  }
  const newKey = () => `attachments/${randomUUID()}.png`

  test('trusts only the current authority, also after it was replaced', async () => {
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

  test('with keys that MinIO does not know the store is unavailable, and reports the reason', async () => {
    const store = bucketStore('leadwire', { secretKey: 'wrong-secret' })
    await expect(store.prepare()).rejects.toThrow('403')
    const [key, file] = [newKey(), await spool(SAMPLES['png']!)]
    for (const work of [() => store.put(key, file), () => store.get(key), () => store.delete(key)])
      await expect(work()).rejects.toMatchObject(UNAVAILABLE)
  })

  test('a store without its bucket is unavailable until the check creates the bucket', async () => {
    const store = bucketStore('lost')
    await expect(store.put(newKey(), await spool(SAMPLES['png']!))).rejects.toMatchObject(UNAVAILABLE)
    await expect(store.get(newKey())).rejects.toMatchObject(UNAVAILABLE)
    await store.check()
    await store.put(newKey(), await spool(SAMPLES['png']!))
  })

  test('sixteen uploads of 25 MiB each need little memory, and spool files are removed', async () => {
    // Uses long time limits. Other specs use the disk at the same time, so detecting and storing may take
    // longer than the default limits. A client that waits for its response is idle.
    const store = bucketStore('leadwire', { silenceLimitMs: 300_000 })
    const server = await startFilesServer(store, { detectionMs: 300_000, idleMs: 300_000 })
    const chunk = Buffer.alloc(64 * 1024, 'All work and no play makes a dull file.\n')
    const size = 25 * MEBIBYTE
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 10)
    const responses = await Promise.all(
      Array.from({ length: 16 }, () =>
        server.upload({ name: 'a.txt', max_bytes: size, chunks: repeated(chunk, size) }),
      ),
    )
    clearInterval(watch)
    const stored = await downloadWhole(server, responses[15]!.key)
    await server.stop()
    expect([stored.size, stored.bytes.length]).toEqual([size, size])
    expect((peak - before) / MEBIBYTE).toBeLessThan(250)
    expect((await readdir(openStore().spoolFolder)).filter((name) => name.startsWith(SPOOL_PREFIX))).toEqual(
      [],
    )
    // Sending, hashing and writing 400 MiB takes minutes on a busy machine.
  }, 600_000)

  test('a killed MinIO is unavailable at once, and available after its restart', async () => {
    const server = await startFilesServer(openStore())
    const upload = () => server.upload({ name: 'a.png', chunks: [SAMPLES['png']!] })
    const { key } = await upload()
    await minio.kill()
    await expect(upload()).rejects.toMatchObject(UNAVAILABLE)
    await expect(downloadWhole(server, key)).rejects.toMatchObject(UNAVAILABLE)
    await expect(server.delete(key)).rejects.toMatchObject(UNAVAILABLE)
    await expect(openStore().check()).rejects.toMatchObject(UNAVAILABLE)
    await minio.restart()
    // Retries, because MinIO reports ready shortly before it accepts requests.
    await eventually(() => openStore().check())
    await upload()
    expect((await downloadWhole(server, key)).bytes.equals(SAMPLES['png']!)).toBe(true)
    await server.stop()
  })

  test('a frozen MinIO is unavailable after a timeout', async () => {
    const file = await spool(randomBytes(1000))
    const store = bucketStore('leadwire', { silenceLimitMs: 500 })
    await minio.suspend()
    try {
      await expect(store.put(newKey(), file)).rejects.toMatchObject(UNAVAILABLE)
    } finally {
      minio.resume()
    }
  })

  test('a download from a frozen MinIO ends when its signal aborts', async () => {
    const key = newKey()
    await openStore().put(key, await spool(randomBytes(10 * MEBIBYTE)))
    const controller = new AbortController()
    const object = await openStore().get(key, { signal: controller.signal })
    await minio.suspend()
    try {
      const reading = buffer(object!.bytes)
      controller.abort()
      await expect(reading).rejects.toThrow('abort')
    } finally {
      minio.resume()
    }
  })

  test('the check creates the bucket again after MinIO lost its disks', async () => {
    await minio.kill()
    await rm(join(directory.path, 'minio'), { recursive: true })
    await mkdir(join(directory.path, 'minio'))
    await minio.restart()
    // Retries, because MinIO reports ready shortly before it accepts requests.
    await eventually(() => openStore().check())
    await openStore().put(newKey(), await spool(SAMPLES['png']!))
  })
})

// Without a MinIO binary but with a Docker engine, runs only the contract of object stores, against a
// container.
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

    testObjectStore(() => {
      const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey, ...rest } = container.store
      const credentials = async () => ({ accessKeyId, secretAccessKey })
      return createS3Store({ ...rest, credentials, endpoint: new URL(endpoint), spoolFolder: directory.path })
    })
  })
}
