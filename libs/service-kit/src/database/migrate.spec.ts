import { createDatabase, eventually } from '@leadwire/test-kit'
import { Client } from 'pg'
import {
  connectDatabase,
  createLifecycle,
  createLogger,
  type Migration,
  migrate,
  untilMigrated,
} from '../index'

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

test('a database with other migrations is refused, and is not tried again', async () => {
  const other = await createDatabase({ name: 'other' })
  await migrate(other.url, [step('001-other')])
  const logger = createLogger({ service: 'spec', level: 'silent' })
  const context = { config: { DATABASE_URL: other.url }, logger, lifecycle }
  await expect(untilMigrated([step('001-first')], context)).rejects.toThrow('with an empty database')
  await other.drop()
})

describe('a database that a newer release has migrated', () => {
  const first = step('001-first')
  const context = (url: string) => {
    const logger = createLogger({ service: 'spec', level: 'silent' })
    return { config: { DATABASE_URL: url }, logger, lifecycle }
  }
  let newer: Awaited<ReturnType<typeof createDatabase>>
  beforeEach(async () => {
    newer = await createDatabase({ name: 'newer' })
  })
  afterEach(() => newer.drop())

  test('is refused if the newer release says that this one can not work with it', async () => {
    await migrate(newer.url, [first])
    await migrate(newer.url, [first, { ...step('002-second'), breaksOlderReleases: true }])
    await expect(untilMigrated([first], context(newer.url))).rejects.toThrow(
      'A newer release of Leadwire has migrated this database (to 002-second)',
    )
  })

  test('is refused if the newer release says nothing', async () => {
    await migrate(newer.url, [first, step('002-second')])
    const database = connectDatabase({ url: newer.url, poolSize: 1, lifecycle })
    await database.query({ text: 'DROP TABLE schema_compatibility' })
    await expect(untilMigrated([first], context(newer.url))).rejects.toThrow('restore a backup')
  })

  test('stays as the newer release left it when an older one that it allows starts', async () => {
    const second = { ...step('002-second'), breaksOlderReleases: true }
    const third = step('003-third')
    await migrate(newer.url, [first, second, third])
    await migrate(newer.url, [first, second])
    await expect(untilMigrated([first], context(newer.url))).rejects.toThrow('to 003-third')
  })
})

test('an index is built while the lock is held', async () => {
  const indexed: Migration = {
    name: '002-indexed',
    transaction: false,
    up: async (knex) => {
      await knex.raw('CREATE TABLE indexed (id integer)')
      await knex.raw('CREATE INDEX CONCURRENTLY indexed_by_id ON indexed (id)')
    },
  }
  const steps = [step('001-first'), indexed]
  await Promise.all([migrate(server.url, steps), migrate(server.url, steps)])
})

test('a migration takes as long as it needs, whatever limits its role has', async () => {
  const url = new URL(server.url)
  url.searchParams.set('options', '-c statement_timeout=1000 -c idle_in_transaction_session_timeout=1000')
  const slow: Migration = {
    name: '003-slow',
    up: async (knex) => void (await knex.raw('SELECT pg_sleep(1.5)')),
  }
  await migrate(url.href, [step('001-first'), slow])
})

test('migrations of several tables end no transaction that uses them in another order', async () => {
  const database = connect()
  await database.query({ text: 'CREATE TABLE one (id integer)' })
  await database.query({ text: 'CREATE TABLE two (id integer)' })
  const add = (name: string, table: string): Migration => ({
    name,
    up: async (knex) => void (await knex.raw(`ALTER TABLE ${table} ADD COLUMN added integer`)),
  })
  const steps = [step('001-first'), step('002-second'), add('003-one', 'one'), add('004-two', 'two')]
  const [client, reader] = [1, 2].map(() => new Client({ connectionString: server.url })) as [Client, Client]
  await Promise.all([client.connect(), reader.connect()])
  const waiting = (count: number) =>
    eventually(async () => {
      const text = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'one'::regclass`
      expect((await database.query({ text })).length).toBeGreaterThanOrEqual(count)
    })
  try {
    await client.query('BEGIN; INSERT INTO two VALUES (1)')
    await reader.query('BEGIN; SELECT FROM one')
    const logger = createLogger({ service: 'spec', level: 'silent' })
    const migrated = untilMigrated(steps, { config: { DATABASE_URL: server.url }, logger, lifecycle })
    // The client's INSERT waits behind the migration, which later waits for the client's lock on `two`. If
    // the migration kept waiting, PostgreSQL would end the client's transaction, because the client would be
    // the first to look for the deadlock.
    await waiting(1)
    const inserted = client.query('INSERT INTO one VALUES (1)')
    await waiting(1)
    await reader.query('COMMIT')
    await inserted
    await client.query('COMMIT')
    await migrated
    await database.query({ text: 'SELECT one.added, two.added FROM one, two' })
  } finally {
    await Promise.all([client.end(), reader.end()])
  }
})
