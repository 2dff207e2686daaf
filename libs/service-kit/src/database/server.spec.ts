import { writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { readConfig } from '@leadwire/settings'
import { eventually, freePort, startPostgresServer, type TestPostgres } from '@leadwire/test-kit'
import { Client } from 'pg'
import { grpcServiceSettings } from '../grpc/service-settings'
import { createLifecycle, type Lifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { connectDatabase, type Database } from './database'
import { untilMigrated } from './migrate'
import { databaseServer } from './server'

const logger = createLogger({ service: 'spec', level: 'silent' })

let postgres: TestPostgres
let admin: Database
let folder: string
let lifecycle: Lifecycle
beforeAll(async () => {
  postgres = await startPostgresServer()
  admin = connectDatabase({ url: postgres.url, poolSize: 1, lifecycle: createLifecycle(logger) })
  // Keeps the server from closing a connection that still waits for its password.
  const session = new Client({ connectionString: postgres.url })
  await session.connect()
  await session.query("ALTER SYSTEM SET authentication_timeout = '10min'")
  await session.end()
  await postgres.requirePasswords()
  await admin.query({
    text: 'CREATE ROLE leads LOGIN; CREATE ROLE leads_2 LOGIN; GRANT ALL ON SCHEMA public TO leads',
  })
})
afterAll(() => postgres.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-password-'))
  lifecycle = createLifecycle(logger)
  await setPassword('leads', 'first')
})
afterEach(async () => {
  await lifecycle.stop()
  await rm(folder, { recursive: true })
})

const setPassword = (role: string, password: string) =>
  admin.query({ text: `ALTER ROLE ${role} PASSWORD '${password}'` })

const cut = () =>
  admin.query({ text: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'leads%'" })

const renderUrl = (user: string, { port }: { port?: number } = {}) => {
  const url = new URL(postgres.url)
  url.username = user.split(':')[0]!
  url.password = user.split(':')[1] ?? ''
  if (port) url.port = String(port)
  return url.href
}

/** Returns the settings of a service with the given environment. */
const settings = (given: Record<string, string>) => {
  const env = {
    GRPC_PORT: '1',
    HEALTH_PORT: '2',
    NATS_URL: 'nats://nats',
    SERVICE_AUTH: 'none',
    ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64'),
    ...given,
  }
  return readConfig(env, grpcServiceSettings(env))
}

const open = (given: Record<string, string>, poolSize = 2) =>
  connectDatabase({ ...databaseServer(settings(given)), poolSize, lifecycle })

const whoAmI = async (database: Database) => {
  const [row] = await database.query<{ name: string }>({ text: 'SELECT current_user::text AS name' })
  return row!.name
}

const inFile = async (text: string) => {
  const file = join(folder, 'secret')
  await writeFile(file, text)
  return file
}

test('a password is read from its file for each new connection', async () => {
  const file = await inFile('first\n')
  const database = open({ DATABASE_URL: renderUrl('leads'), DATABASE_PASSWORD_FILE: file })
  expect(await whoAmI(database)).toBe('leads')
  await setPassword('leads', 'second')
  // An open connection needs no new password.
  expect(await whoAmI(database)).toBe('leads')
  await cut()
  await eventually(() =>
    expect(whoAmI(database)).rejects.toMatchObject({
      code: 'unavailable',
      cause: { message: expect.stringContaining('password authentication failed') },
    }),
  )
  await writeFile(file, 'second\n')
  expect(await whoAmI(database)).toBe('leads')
})

test('user and password are read from the file of the URL for each new connection', async () => {
  await setPassword('leads_2', 'other')
  const file = await inFile(renderUrl('leads:first'))
  const database = open({ DATABASE_URL_FILE: file }, 1)
  expect(await whoAmI(database)).toBe('leads')
  await writeFile(file, renderUrl('leads_2:other'))
  await cut()
  await eventually(async () => expect(await whoAmI(database)).toBe('leads_2'))
})

test('a command is run for a password, once for all connections that are opened at once', async () => {
  const runs = join(folder, 'runs')
  const asked = join(folder, 'asked')
  const script = join(folder, 'password.cjs')
  await writeFile(
    script,
    `const { appendFileSync, existsSync } = require('node:fs')
    appendFileSync(${JSON.stringify(runs)}, '.')
    const timer = setInterval(() => {
      if (!existsSync(${JSON.stringify(asked)})) return
      clearInterval(timer)
      console.log(process.argv[2])
    }, 10)`,
  )
  const server = databaseServer(
    settings({
      DATABASE_URL: renderUrl('leads'),
      DATABASE_PASSWORD_COMMAND: `${process.execPath} ${script} first`,
    }),
  )
  // The command ends only after both connections have asked for the password.
  let count = 0
  const password = () => {
    count += 1
    if (count === 2) writeFileSync(asked, '')
    return server.password!()
  }
  const database = connectDatabase({ ...server, password, poolSize: 2, lifecycle })
  const atOnce = { text: 'SELECT 1 FROM pg_sleep(0.1)' }
  await Promise.all([database.query(atOnce), database.query(atOnce)])
  expect(await readFile(runs, 'utf8')).toBe('.')
  await cut()
  await eventually(() => whoAmI(database))
  expect(await readFile(runs, 'utf8')).toBe('..')
})

test('a command that fails makes the database unavailable, shows no output, and leaves no connection open', async () => {
  const sockets = new Set<Socket>()
  let opened = 0
  const proxy = createServer((client) => {
    const upstream = connect(Number(new URL(postgres.url).port), '127.0.0.1')
    opened += 1
    sockets.add(client.on('close', () => sockets.delete(client)))
    client.pipe(upstream).pipe(client)
    for (const end of [client, upstream]) end.on('error', () => end.destroy())
  })
  // Uses a port of its own, because a client of another spec might still connect to a port that the system
  // chooses.
  const port = await freePort()
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
  const script = join(folder, 'password.cjs')
  await writeFile(
    script,
    "console.log('half-a-secret'); console.error('no token today'); process.exitCode = 3",
  )
  const database = open({
    DATABASE_URL: renderUrl('leads', { port }),
    DATABASE_PASSWORD_COMMAND: `${process.execPath} ${script}`,
  })
  // On a busy machine, the query may time out before the command has ended.
  await eventually(async () => {
    const error = await whoAmI(database).catch((thrown) => thrown)
    expect(inspect(error)).not.toMatch(/half-a-secret|no token/)
    expect(error).toMatchObject({
      code: 'unavailable',
      cause: { message: 'DATABASE_PASSWORD_COMMAND exited with code 3' },
    })
  })
  await eventually(() => expect(sockets.size).toBe(0))
  expect(opened).toBeGreaterThan(0)
  proxy.close()
})

test.each([
  ['is not there', '/nowhere/password', 60_000, 'failed: ENOENT'],
  [
    'hangs',
    `${process.execPath} -e console.log('a-secret');setInterval(()=>0,1e6)`,
    500,
    'took longer than 500 ms',
  ],
  ['prints nothing', `${process.execPath} -e console.log()`, 60_000, 'printed nothing'],
])('the log says that a command %s', async (_, DATABASE_PASSWORD_COMMAND, limitMs, why) => {
  const config = settings({ DATABASE_URL: renderUrl('leads'), DATABASE_PASSWORD_COMMAND })
  const logged = jest.spyOn(logger, 'info').mockClear()
  untilMigrated([], { config, logger, lifecycle }, databaseServer(config, limitMs)).catch(() => undefined)
  await eventually(() =>
    expect(logged.mock.calls).toEqual([
      [{ reason: `DATABASE_PASSWORD_COMMAND ${why}` }, 'waiting for the database'],
    ]),
  )
})

test('a command of spaces, and one beside a password, are refused', async () => {
  const DATABASE_URL = renderUrl('leads')
  expect(() => settings({ DATABASE_URL, DATABASE_PASSWORD_COMMAND: '  ' })).toThrow(
    'DATABASE_PASSWORD_COMMAND: must name a program',
  )
  for (const password of [{ DATABASE_PASSWORD: 'first' }, { DATABASE_PASSWORD_FILE: await inFile('first') }])
    expect(() => settings({ DATABASE_URL, DATABASE_PASSWORD_COMMAND: 'cat', ...password })).toThrow(
      /^DATABASE_PASSWORD_COMMAND: .*remove one of them$/,
    )
})

test('a migration connects with the password that the file holds at the time', async () => {
  const file = await inFile('not yet')
  const config = settings({ DATABASE_URL: renderUrl('leads'), DATABASE_PASSWORD_FILE: file })
  const step = {
    name: '001',
    up: async (knex: { raw(sql: string): unknown }) => void (await knex.raw('CREATE TABLE made ()')),
  }
  const waits = jest.spyOn(logger, 'info')
  const migrated = untilMigrated([step], { config, logger, lifecycle })
  await eventually(() => expect(waits).toHaveBeenCalled())
  await writeFile(file, 'first')
  await migrated
  await admin.query({ text: 'SELECT FROM made' })
})
