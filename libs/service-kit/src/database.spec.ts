import { createDatabase } from '@leadwire/test-kit'
import { connectDatabase, type Database } from './database'
import { createLifecycle } from './lifecycle'
import { createLogger } from './logger'

const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
let server: Awaited<ReturnType<typeof createDatabase>>
let database: Database

beforeAll(async () => {
  server = await createDatabase({ name: 'statements' })
  database = connectDatabase({ url: server.url, poolSize: 1, lifecycle })
  await database.query({ text: 'CREATE TABLE kept (id integer PRIMARY KEY)' })
})
afterAll(async () => {
  await lifecycle.stop()
  await server.drop()
})
beforeEach(() => database.query({ text: 'TRUNCATE kept' }))

const kept = async () =>
  (await database.query<{ id: number }>({ text: 'SELECT id FROM kept ORDER BY id' })).map(({ id }) => id)

const insert = (id: unknown) => ({ text: 'INSERT INTO kept VALUES ($1)', values: [id] })

test('what is sent is done in its order and committed', async () => {
  const found = await database.transaction(async (tx) => {
    tx.send(insert(1))
    tx.send(insert(2))
    const rows = await tx.query<{ count: number }>({ text: 'SELECT count(*) FROM kept' })
    tx.send(insert(3))
    return rows[0]!.count
  })
  expect(found).toBe(2)
  expect(await kept()).toEqual([1, 2, 3])
})

test('a statement that fails behind the back of the work fails the transaction, with its own error', async () => {
  const last = database.transaction(async (tx) => {
    tx.send(insert(1))
    tx.send(insert(1))
  })
  await expect(last).rejects.toMatchObject({ constraint: 'kept_pkey' })
  const early = database.transaction(async (tx) => {
    tx.send(insert(1))
    tx.send(insert(1))
    await tx.query(insert(2))
  })
  await expect(early).rejects.toMatchObject({ constraint: 'kept_pkey' })
  expect(await kept()).toEqual([])
})

test('work that throws, or sends what can not be sent, leaves nothing behind', async () => {
  const thrown = database.transaction(async (tx) => {
    tx.send(insert(1))
    throw new Error('changed my mind')
  })
  await expect(thrown).rejects.toThrow('changed my mind')
  const circular: { self?: object } = {}
  circular.self = circular
  const unsendable = database.transaction(async (tx) => {
    tx.send(insert(1))
    tx.send(insert(circular))
  })
  await expect(unsendable).rejects.toThrow('circular')
  expect(await kept()).toEqual([])
  await database.transaction(async (tx) => tx.send(insert(4)))
  expect(await kept()).toEqual([4])
})
