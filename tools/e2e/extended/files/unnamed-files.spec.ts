import { randomUUID } from 'node:crypto'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { PNG } from '../../support/samples'
import { type Stage, startStage, type Tenant } from '../../support/stage'

let store: ObjectStoreDirectory
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  store = await objectStoreDirectory()
  stage = await startStage({ store: { STORE_URL: store.url } })
  tenant = await stage.newTenant()
})
afterAll(async () => {
  await stage.stop()
  await store.remove()
})

const HOUR_MS = 3_600_000

const inFolder = (collection: string) => readdir(join(store.path, collection))

const age = (collection: string, name: string, ms: number) => {
  const at = new Date(Date.now() - ms)
  return utimes(join(store.path, collection, name), at, at)
}

const leave = async (collection: string, ageMs: number) => {
  await mkdir(join(store.path, collection), { recursive: true })
  const name = `${randomUUID()}.png`
  await writeFile(join(store.path, collection, name), PNG)
  await age(collection, name, ageMs)
  return name
}

// Restarts leads-service, which deletes stored files without a record when it starts.
const deleteUnnamed = () => stage.system.restart('leads-service')

test('stored files without a record are deleted after an hour; younger files and files with a record stay', async () => {
  const { reference } = await tenant.createLead()
  const file = { name: 'file', value: PNG, fileName: 'a.png' }
  await tenant.send('POST', `/leads/${reference}/attachments`, {
    multipart: [{ name: 'name', value: 'A' }, file],
  })
  await tenant.send('POST', '/manage/images', { multipart: [file] })
  const [attachment, image] = [(await inFolder('attachments'))[0]!, (await inFolder('images'))[0]!]
  await age('attachments', attachment, 2 * HOUR_MS)
  await age('images', image, 2 * HOUR_MS)
  for (const collection of ['attachments', 'images', 'imports']) await leave(collection, HOUR_MS + 1000)
  const young = await leave('attachments', HOUR_MS - 60_000)
  await deleteUnnamed()
  await eventually(async () => {
    expect((await inFolder('attachments')).toSorted()).toEqual([attachment, young].toSorted())
    expect(await inFolder('images')).toEqual([image])
    expect(await inFolder('imports')).toEqual([])
  })
})

test('nothing is deleted if the store has more files without a record than failed requests can leave', async () => {
  const before = (await inFolder('attachments')).length
  for (let left = 0; left < 101; left += 1) await leave('attachments', 2 * HOUR_MS)
  await deleteUnnamed()
  await eventually(() =>
    expect(stage.system.logs('leads-service').map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining('no stored file is deleted'),
    ),
  )
  expect(await inFolder('attachments')).toHaveLength(before + 101)
})
