import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mountDisk, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { repeated, startFilesServer, TEXT } from '../files/files-server.fixture'
import { createDirectoryStore } from './directory-store'
import { itKeepsObjects } from './object-store.contract.fixture'

describe('a store in a folder', () => {
  let directory: ObjectStoreDirectory
  const storeOf = () => createDirectoryStore(join(directory.path, 'store'))

  beforeAll(async () => {
    directory = await objectStoreDirectory()
    await storeOf().prepare()
  })
  afterAll(() => directory.remove())

  itKeepsObjects(storeOf)

  test('makes its folder for incoming files again', async () => {
    await rm(storeOf().spoolFolder, { recursive: true })
    await storeOf().check()
    expect(await readdir(storeOf().spoolFolder)).toEqual([])
  })

  test('is not usable once its folder is gone, and does not make it again by itself', async () => {
    await rm(join(directory.path, 'store'), { recursive: true })
    await expect(storeOf().check()).rejects.toThrow()
    expect(await readdir(directory.path)).toEqual([])
    await storeOf().prepare()
    await storeOf().check()
  })

  test('counts as unavailable while its disk is full', async () => {
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
