import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, createDatabase, writeAuthorities } from '@leadwire/test-kit'
import { createLifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { connectDatabase, type Database } from './database'
import { databaseFailure, isTimedOut } from './failure'
import { checkDatabase } from './parsers'

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

test.each([
  "DateStyle = 'SQL, DMY'",
  "DateStyle = 'German'",
  "default_transaction_isolation = 'serializable'",
  'default_transaction_read_only = on',
  'array_nulls = off',
  'extra_float_digits = -15',
  "bytea_output = 'escape'",
  "TimeZone = 'Europe/London'",
  "IntervalStyle = 'iso_8601'",
  'lock_timeout = 1',
])('a database with %s is used as any other', async (setting) => {
  const other = await createDatabase({ name: 'settings' })
  const ending = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
  try {
    const name = new URL(other.url).pathname.slice(1)
    await database.query({ text: `ALTER DATABASE "${name}" SET ${setting}` })
    for (const url of [other.url, `${other.url}?pgbouncer=true`]) {
      const configured = connectDatabase({ url, poolSize: 1, lifecycle: ending })
      await checkDatabase(configured)
      const settings = await configured.transaction(async (tx) => {
        await tx.query({ text: 'CREATE TEMPORARY TABLE written (id integer)' })
        return tx.query({
          text: `SELECT current_setting('transaction_isolation') AS isolation, current_setting('lock_timeout') AS locks,
            ('{1,NULL}'::int[])[2] IS NULL AS nulls`,
        })
      })
      expect(settings).toEqual([{ isolation: 'read committed', locks: '0', nulls: true }])
    }
  } finally {
    await ending.stop()
    await other.drop()
  }
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

test('a named statement is prepared again when its first try failed behind it', async () => {
  const named = { ...insert(5), name: 'insert-kept' }
  const read = { name: 'read-kept', text: 'SELECT id, NULL AS nothing FROM kept' }
  const failed = database.transaction(async (tx) => {
    tx.send(named)
    tx.send(read)
    tx.send(insert(5))
  })
  await expect(failed).rejects.toMatchObject({ constraint: 'kept_pkey' })
  const rows = await database.transaction(async (tx) => {
    tx.send(named)
    return tx.query(read)
  })
  expect(rows).toEqual([{ id: 5, nothing: null }])
  expect(await database.query(read)).toEqual(rows)
})

test('a transaction whose work continues after a failure fails', async () => {
  const swallowed = database.transaction(async (tx) => {
    tx.send(insert(6))
    await tx.query(insert(6)).catch(() => undefined)
  })
  await expect(swallowed).rejects.toMatchObject({ constraint: 'kept_pkey' })
  expect(await kept()).toEqual([])
})

test('what begins after its caller has gone is refused, and leaves nothing behind', async () => {
  const controller = new AbortController()
  const gone = new Error('gone')
  const forCaller = database.until(controller.signal)
  const left = forCaller.transaction(async (tx) => {
    await tx.query(insert(8))
    controller.abort(gone)
    await tx.query(insert(9))
  })
  await expect(left).rejects.toBe(gone)
  await expect(forCaller.query(insert(8))).rejects.toBe(gone)
  expect(await kept()).toEqual([])
})

test.each([
  'false',
  'true',
])('with pgbouncer=%s settings hold whatever the URL has, and transactions leave nothing behind', async (pgbouncer) => {
  const url = new URL(server.url)
  url.searchParams.set('pgbouncer', pgbouncer)
  url.searchParams.set('options', '-c application_name=mine -c TimeZone=Asia/Tokyo')
  const here = connectDatabase({ url: url.href, poolSize: 1, lifecycle })
  const there = here.with('there', ['search_path = there', "work_mem = '1MB'"])
  const show = async (of: Database, name: string) =>
    (
      await of.query<{ value: string }>({
        name: 'show',
        text: 'SELECT current_setting($1) AS value',
        values: [name],
      })
    )[0]!.value
  expect(await show(here, 'application_name')).toBe('mine')
  expect(await show(here, 'TimeZone')).toBe('UTC')
  expect(await show(there, 'TimeZone')).toBe('UTC')
  expect(await show(there, 'search_path')).toBe('there')
  expect(await show(here, 'search_path')).toBe('"$user", public')
  const left = `SELECT name FROM pg_settings WHERE source = 'session' AND setting <> reset_val`
  const inSession = await here.transaction(async (tx) => {
    tx.send({ text: 'COMMIT' })
    return tx.query({ text: left })
  })
  expect(inSession).toEqual([])
})

test('a statement has a plan for each kind of settings', async () => {
  await database.query({ text: 'CREATE SCHEMA aside CREATE TABLE kept (id integer)' })
  const aside = database.with('aside', ['search_path = aside'])
  const count = { name: 'count-kept', text: 'SELECT count(*) FROM kept' }
  await database.query(insert(1))
  for (let turn = 0; turn < 2; turn++) {
    expect(await database.query(count)).toEqual([{ count: 1 }])
    expect(await aside.query(count)).toEqual([{ count: 0 }])
  }
  const prepared = `SELECT name FROM pg_prepared_statements WHERE name ~ '^count-kept' ORDER BY 1`
  expect(await database.query({ text: prepared })).toEqual([
    { name: 'count-kept' },
    { name: 'count-kept-aside' },
  ])
})

test('two statements of one name are refused', async () => {
  await database.query({ name: 'one', text: 'SELECT 1 AS n' })
  await expect(database.query({ name: 'one', text: 'SELECT 2 AS n' })).rejects.toThrow('must be unique')
})

test('a statement that timed out is rolled back, and can be sent again', async () => {
  const hurried = database.with('hurried', ['statement_timeout = 50'])
  const slow = { text: 'INSERT INTO kept SELECT 10 FROM pg_sleep(60)' }
  const error = await hurried.query(slow).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'unavailable' })
  expect(isTimedOut(error)).toBe(true)
  expect(await kept()).toEqual([])
})

test('a connection whose plan no longer fits its table is given up', async () => {
  const read = { name: 'read-shape', text: 'SELECT shape FROM shapes' }
  await database.query({ text: "CREATE TABLE shapes AS SELECT 'round'::text AS shape" })
  await database.query(read)
  await database.query({ text: 'ALTER TABLE shapes ALTER shape TYPE varchar' })
  await expect(database.query(read)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await database.query(read)).toEqual([{ shape: 'round' }])
})

test('a connection whose server no longer knows a statement is closed', async () => {
  const read = { name: 'read-nothing', text: 'SELECT 1 AS n' }
  await database.query(read)
  await database.query({ text: 'DEALLOCATE ALL' })
  await expect(database.query(read)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await database.query(read)).toEqual([{ n: 1 }])
})

test('a connection to a server that takes no writes is given up', async () => {
  const readOnly = 'SELECT set_config($1, $2, false)'
  await database.query({ text: readOnly, values: ['default_transaction_read_only', 'on'] })
  await expect(database.query(insert(7))).rejects.toMatchObject({ code: 'unavailable' })
  await database.query(insert(7))
  expect(await kept()).toEqual([7])
})

test('when a server has vanished without a word, one statement waits for it, and no idle connection is used again', async () => {
  const target = new URL(server.url)
  const { hostname, port } = target
  const ends: Socket[] = []
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    ends.push(client, upstream)
    client.pipe(upstream).on('error', () => client.destroy())
    upstream.pipe(client).on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  target.port = String((proxy.address() as AddressInfo).port)
  target.searchParams.set('application_name', 'behind the proxy')
  const behind = connectDatabase({ url: target.href, poolSize: 4, lifecycle, answerLimitMs: 1500 })
  const beside = connectDatabase({ url: target.href, poolSize: 1, lifecycle })
  await beside.query({ text: 'SELECT 1' })
  const fourAtOnce = { text: 'SELECT 1 FROM pg_sleep(0.2)' }
  await Promise.all(Array.from({ length: 4 }, () => behind.query(fourAtOnce)))
  // Asks PostgreSQL, because a client of another spec may still connect to the port that the proxy has got.
  const counted = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'behind the proxy'`
  expect(await database.query({ text: counted })).toEqual([{ count: 5 }])
  for (const end of ends) end.unpipe().pause()
  const answers = []
  for (let n = 1; n <= 5; n++)
    answers.push(await behind.query({ text: `SELECT ${n} AS n` }).catch(({ code }) => code))
  await beside.query({ text: 'SELECT 1' })
  for (const end of ends) end.destroy()
  proxy.close()
  expect(answers).toEqual(['unavailable', [{ n: 2 }], [{ n: 3 }], [{ n: 4 }], [{ n: 5 }]])
})

test('an encrypted connection trusts the authorities that are in the file when it begins', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-database-'))
  const caFile = await writeAuthorities(folder, [await createAuthority()])
  const url = new URL(server.tlsUrl)
  const sound = url.searchParams.get('sslrootcert')!
  url.searchParams.set('sslrootcert', caFile)
  const encrypted = connectDatabase({ url: url.href, poolSize: 1, lifecycle })
  await expect(encrypted.query({ text: 'SELECT 1' })).rejects.toMatchObject({ code: 'unavailable' })
  await copyFile(sound, caFile)
  const [row] = await encrypted.query<{ ssl: boolean }>({
    text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
  })
  expect(row).toEqual({ ssl: true })
  await rm(folder, { recursive: true })
})

test.each(['EAI_AGAIN', 'ENETUNREACH'])('while connections fail with %s it is unavailable', (code) => {
  expect(databaseFailure(Object.assign(new Error(), { code }))).toMatchObject({ code: 'unavailable' })
})
