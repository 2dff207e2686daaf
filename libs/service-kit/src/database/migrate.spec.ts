import { createDatabase } from '@leadwire/test-kit'
import { connectDatabase, createLifecycle, createLogger, type Migration, migrate } from '../index'

const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
let server: Awaited<ReturnType<typeof createDatabase>>

beforeAll(async () => {
  server = await createDatabase({ name: 'migrations' })
})
afterAll(async () => {
  await lifecycle.stop()
  await server.drop()
})

const connect = () => connectDatabase({ url: server.url, poolSize: 3, lifecycle })

const step = (name: string): Migration => ({
  name,
  up: async (knex) => void (await knex.raw(`CREATE TABLE "${name}" ()`)),
})

test('copies of two versions start at once, and one of the older starts again later', async () => {
  const older = [step('001-first')]
  const newer = [...older, step('002-second')]
  await Promise.all([older, newer, newer, older].map((steps) => migrate(server.url, steps)))
  await migrate(server.url, older)
  const tables = await connect().query<{ name: string }>({
    text: "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^0' ORDER BY 1",
  })
  expect(tables.map(({ name }) => name)).toEqual(['001-first', '002-second'])
})
