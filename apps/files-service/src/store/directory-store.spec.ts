import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mountDisk, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { repeated, startFilesServer, TEXT } from '../files/files-server.fixture'
import { createDirectoryStore } from './directory-store'
import { testObjectStore } from './object-store.contract.fixture'

describe('a store in a folder', () => {
  let directory: ObjectStoreDirectory
  const openStore = () => createDirectoryStore(join(directory.path, 'store'))

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await openStore().prepare()
  })
  afterAll(() => directory.remove())

  testObjectStore(openStore)

  test('recreates its folder for incoming files', async () => {
    await rm(openStore().spoolFolder, { recursive: true })
    await openStore().check()
    expect(await readdir(openStore().spoolFolder)).toEqual([])
  })

  test('cannot be used after its folder was removed, and does not recreate it', async () => {
    await rm(join(directory.path, 'store'), { recursive: true })
    await expect(openStore().check()).rejects.toThrow()
    expect(await readdir(directory.path)).toEqual([])
    await openStore().prepare()
    await openStore().check()
  })

  test('is unavailable while its disk is full', async () => {
    const disk = await mountDisk({ mebibytes: 2 })
    if ('reason' in disk) return console.warn(`SKIPPED: a full disk under a folder: ${disk.reason}`)
    const server = await startFilesServer(createDirectoryStore(disk.path))
    try {
      const upload = () => server.upload({ name: 'a.txt', chunks: repeated(TEXT, TEXT.length * 10) })
      await upload()
      await disk.fill()
      await expect(upload()).rejects.toMatchObject({ code: 'unavailable' })
      await disk.clear()
      await upload()
    } finally {
      await server.stop()
      await disk.remove()
    }
  })
})
