import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
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
})
