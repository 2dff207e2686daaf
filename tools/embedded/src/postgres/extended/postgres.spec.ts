import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from '../../process/free-port'
import { readStartTime } from '../../process/identity'
import { ensureDatabase, localPostgresUrl, startPostgres } from '../postgres'
import { runAs } from '../run-as'

let room: string
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), 'pg-spec-'))
  chmodSync(room, 0o711)
})
afterEach(() => rmSync(room, { recursive: true, force: true }))

async function start(dataDirectory = join(room, 'postgres')) {
  const port = await freePort()
  const server = await startPostgres({ dataDirectory, port, durable: true })
  const queryAt = async (connectionString: string, sql: string) => {
    const client = new Client({ connectionString })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  return {
    ...server,
    port,
    query: (sql: string) => queryAt(server.url(), sql),
    queryLocally: (sql: string) => queryAt(localPostgresUrl({ dataDirectory, port }, 'postgres'), sql),
  }
}

const OVER_SOCKET = 'select inet_server_addr() is null as over_socket'

const asRoot = process.getuid?.() === 0 ? test : test.skip

describe('startPostgres', () => {
  test('starts with durability on, and keeps its data after a stop', async () => {
    const first = await start()
    await first.query('create table kept as select 42 as answer')
    expect(await first.query('show fsync')).toEqual([{ fsync: 'on' }])
    expect(await first.query('show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
    await first.stop()
    expect(await readStartTime(first.pid)).toBeUndefined()

    const second = await start()
    expect(await second.query('select answer from kept')).toEqual([{ answer: 42 }])
    await second.stop()
  })

  test.each([
    ['the Unix socket', 'postgres', true],
    ['TCP if its folder has a long name', 'p'.repeat(80), false],
  ])('is reached over %s', async (_, name, overSocket) => {
    const server = await start(join(room, name))
    expect(await server.queryLocally(OVER_SOCKET)).toEqual([{ over_socket: overSocket }])
    await server.stop()
  })

  test('starts if the number in postmaster.pid belongs to another process now', async () => {
    await (await start()).stop()
    const stale = [process.pid, join(room, 'postgres'), 1, 5432, '', '127.0.0.1', '1 1', 'ready'].join('\n')
    writeFileSync(join(room, 'postgres/postmaster.pid'), stale)
    const server = await start()
    expect(await server.query('select 1 as one')).toEqual([{ one: 1 }])
    await server.stop()
  })

  test('stops a server over the same data that outlived its parent', async () => {
    const orphan = await start()
    const next = await start()
    expect(await readStartTime(orphan.pid)).toBeUndefined()
    await next.stop()
  })

  test('creates a database once', async () => {
    const server = await start()
    await ensureDatabase(server.port, 'leads')
    await ensureDatabase(server.port, 'leads')
    expect(await server.query(`select datname from pg_database where datname = 'leads'`)).toHaveLength(1)
    await server.stop()
  })

  asRoot('as root, the server runs as another user, who owns the data', async () => {
    const server = await start()
    const { uid } = statSync(join(room, 'postgres'))
    expect(uid).not.toBe(0)
    expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toMatch(new RegExp(`^Uid:\\t${uid}\\t`, 'm'))
    await server.stop()
  })

  asRoot('as root, in a folder that other users can not read, the data is in the folder', async () => {
    chmodSync(room, 0o700)
    const [original, copy] = [join(room, 'postgres'), join(room, 'copy')]
    const server = await start(original)
    await server.query('create table kept ()')
    expect(await server.queryLocally(OVER_SOCKET)).toEqual([{ over_socket: true }])
    await server.stop()
    expect(lstatSync(original).isDirectory()).toBe(true)
    cpSync(original, copy, { recursive: true, preserveTimestamps: true })
    execFileSync('chown', ['-R', `--reference=${original}`, copy])

    const again = await start(original)
    const beside = await start(copy)
    expect(await beside.query('select count(*)::int from kept')).toEqual([{ count: 0 }])
    expect(await again.query('select count(*)::int from kept')).toEqual([{ count: 0 }])
    await Promise.all([again.stop(), beside.stop()])
  })

  asRoot('data that belongs to root is an error that says what to do', async () => {
    await expect(runAs(room)).rejects.toThrow('LEADWIRE_DATA')
  })
})
