import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { downloadWhole, startFilesServer } from '../../files/files-server.fixture'
import { SAMPLES } from '../../formats/samples.fixture'
import { testObjectStore } from '../object-store.contract.fixture'
import { createS3Store } from '../s3-store'
import { type Seaweedfs, seaweedfsBinary, startSeaweedfs, whyNoSeaweedfs } from '../seaweedfs.fixture'

const UNAVAILABLE = { code: 'unavailable' }

if (seaweedfsBinary === undefined) console.warn(`SKIPPED: the S3 store in SeaweedFS. ${whyNoSeaweedfs}`)

;(seaweedfsBinary === undefined ? describe.skip : describe)('a store in a bucket of SeaweedFS', () => {
  let directory: ObjectStoreDirectory
  let seaweedfs: Seaweedfs
  const openStore = ({ bucket = 'leadwire', secretKey = seaweedfs.secretKey } = {}) =>
    createS3Store({
      endpoint: seaweedfs.endpoint,
      bucket,
      region: 'us-east-1',
      credentials: async () => ({ accessKeyId: seaweedfs.accessKey, secretAccessKey: secretKey }),
      spoolFolder: join(directory.path, 'spool'),
    })

  const spool = async (bytes: Buffer) => {
    const path = join(directory.path, 'spool', randomUUID())
    await writeFile(path, bytes)
    return { path, size: bytes.length, contentType: 'image/png' }
  }
  const newKey = () => `attachments/${randomUUID()}.png`

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await mkdir(join(directory.path, 'spool'))
    seaweedfs = await startSeaweedfs(seaweedfsBinary!, join(directory.path, 'seaweedfs'))
    await eventually(() => openStore().prepare(), { describe: 'waiting for the bucket' })
    // Retries, because SeaweedFS refuses the first object of a bucket until SeaweedFS has created volumes.
    const file = await spool(Buffer.from('first'))
    await eventually(() => openStore().put(newKey(), file), { describe: 'waiting for the first volumes' })
  })
  afterAll(async () => {
    await seaweedfs?.stop()
    await directory.remove()
  })

  testObjectStore(() => openStore())

  test('keys that SeaweedFS does not know make the store unavailable', async () => {
    const store = openStore({ secretKey: 'wrong-secret' })
    await expect(store.prepare()).rejects.toThrow('403')
    await expect(store.put(newKey(), await spool(SAMPLES['png']!))).rejects.toMatchObject(UNAVAILABLE)
    await expect(store.get(newKey())).rejects.toMatchObject(UNAVAILABLE)
  })

  test('the check creates a missing bucket', async () => {
    const store = openStore({ bucket: 'lost' })
    await store.check()
    const file = await spool(SAMPLES['png']!)
    await eventually(() => store.put(newKey(), file), { describe: 'waiting for the first volumes' })
  })

  test('a killed SeaweedFS is unavailable at once, and has every file after its restart', async () => {
    const server = await startFilesServer(openStore())
    const bytes = randomBytes(100_000)
    const { key } = await server.upload({ name: 'a.png', chunks: [SAMPLES['png']!, bytes] })
    await seaweedfs.kill()
    await expect(server.upload({ name: 'a.png', chunks: [SAMPLES['png']!] })).rejects.toMatchObject(
      UNAVAILABLE,
    )
    await expect(downloadWhole(server, key)).rejects.toMatchObject(UNAVAILABLE)
    await seaweedfs.restart()
    await eventually(() => openStore().check(), { describe: 'waiting for the bucket' })
    await eventually(async () => {
      const { bytes: stored } = await downloadWhole(server, key)
      expect(stored.equals(Buffer.concat([SAMPLES['png']!, bytes]))).toBe(true)
    })
    await server.stop()
  })
})
