import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ObjectStore } from './object-store'

const MEBIBYTE = 1024 * 1024

/**
 * Tests the behaviour that all object stores share. `openStore` returns the store under test, prepared and
 * empty.
 */
export const testObjectStore = (openStore: () => ObjectStore) => {
  let folder: string
  beforeAll(async () => {
    // Uses the spool folder, because a directory store links its objects from there.
    folder = await mkdtemp(join(openStore().spoolFolder, 'contract-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const newKey = () => `attachments/${randomUUID()}.txt`
  const spool = async (bytes: Buffer) => {
    const path = join(folder, randomUUID())
    await writeFile(path, bytes)
    return { path, size: bytes.length, contentType: 'text/plain' }
  }
  const put = async (key: string, bytes: Buffer) => openStore().put(key, await spool(bytes))
  const read = async (key: string) => {
    const object = await openStore().get(key)
    return object && { size: object.size, bytes: await buffer(object.bytes) }
  }

  test.each([
    0,
    1,
    64 * 1024 - 1,
    64 * 1024,
    64 * 1024 + 1,
    5 * MEBIBYTE + 1,
    10 * MEBIBYTE,
  ])('returns %d bytes unchanged', async (size) => {
    const key = newKey()
    const bytes = randomBytes(size)
    await put(key, bytes)
    const object = await read(key)
    expect(object?.size).toBe(size)
    expect(object?.bytes.equals(bytes)).toBe(true)
  })

  test('returns the bytes from a position to the end', async () => {
    const key = newKey()
    await put(key, Buffer.from('0123456789'))
    const object = await openStore().get(key, { from: 7 })
    expect(object?.size).toBe(3)
    expect(String(await buffer(object!.bytes))).toBe('789')
  })

  test('lists the objects that were stored before a time', async () => {
    const key = newKey()
    await put(key, Buffer.from('listed'))
    const listed = async (before: number) => {
      const keys: string[] = []
      for await (const each of openStore().list({ before: new Date(before) })) keys.push(each)
      return keys
    }
    const HOUR_MS = 3_600_000
    expect(await listed(Date.now() + HOUR_MS)).toContain(key)
    expect(await listed(Date.now() - HOUR_MS)).not.toContain(key)
    await openStore().delete(key)
    expect(await listed(Date.now() + HOUR_MS)).not.toContain(key)
  })

  test('has no object under an unused key', async () => {
    expect(await openStore().get(newKey())).toBeUndefined()
  })

  test('deletes an object, and succeeds if there is none', async () => {
    const key = newKey()
    await put(key, Buffer.from('a'))
    await openStore().delete(key)
    await openStore().delete(key)
    expect(await openStore().get(key)).toBeUndefined()
  })

  test('never replaces an object', async () => {
    const key = newKey()
    await put(key, Buffer.from('first'))
    await expect(put(key, Buffer.from('second'))).rejects.toThrow()
    expect((await read(key))?.bytes.toString()).toBe('first')
  })

  test('stores exactly one of many concurrent puts under one key', async () => {
    const key = newKey()
    const contents = Array.from({ length: 8 }, (_, index) => Buffer.alloc(MEBIBYTE, `${index}`))
    const results = await Promise.allSettled(contents.map((bytes) => put(key, bytes)))
    const winners = contents.filter((_, index) => results[index]?.status === 'fulfilled')
    expect(winners).toHaveLength(1)
    expect((await read(key))?.bytes.equals(winners[0]!)).toBe(true)
  })

  test('shows a reader the whole object or none', async () => {
    const key = newKey()
    const bytes = randomBytes(10 * MEBIBYTE)
    const file = await spool(bytes)
    let done = false
    const putting = openStore()
      .put(key, file)
      .finally(() => {
        done = true
      })
    const seen = new Set<number | undefined>()
    while (!done) seen.add((await read(key))?.bytes.length)
    await putting
    seen.add((await read(key))?.bytes.length)
    expect([...seen].filter((size) => size !== undefined)).toEqual([bytes.length])
  })

  test('stores many objects at once', async () => {
    const files = Array.from({ length: 40 }, () => ({ key: newKey(), bytes: randomBytes(100_000) }))
    await Promise.all(files.map(({ key, bytes }) => put(key, bytes)))
    const objects = await Promise.all(files.map(({ key }) => read(key)))
    expect(objects.map((object, index) => object?.bytes.equals(files[index]!.bytes))).toEqual(
      files.map(() => true),
    )
  })

  test('stores nothing if a put is aborted', async () => {
    const key = newKey()
    const file = await spool(randomBytes(10 * MEBIBYTE))
    const controller = new AbortController()
    const putting = openStore().put(key, file, controller.signal)
    controller.abort()
    await expect(putting).rejects.toMatchObject({ name: 'AbortError' })
    expect(await openStore().get(key)).toBeUndefined()
  })

  test('can be prepared repeatedly and concurrently', async () => {
    await Promise.all([1, 2, 3].map(() => openStore().prepare()))
    await openStore().check()
  })
}
