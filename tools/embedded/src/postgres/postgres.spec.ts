import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { freePort } from '../process/free-port'
import { startOf } from '../process/identity'
import { ensureDatabase, startPostgres } from './postgres'
import { runAs } from './run-as'

let room: string
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), 'pg-spec-'))
  chmodSync(room, 0o711)
})
afterEach(() => rmSync(room, { recursive: true, force: true }))

async function start() {
  const port = await freePort()
  const server = await startPostgres({ dataDirectory: join(room, 'postgres'), port, durable: true })
  const query = async (sql: string) => {
    const client = new Client({ connectionString: server.url() })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  return { ...server, port, query }
}

const asRoot = process.getuid?.() === 0 ? test : test.skip

describe('startPostgres', () => {
  test('starts with durability on, and has its data again after a stop', async () => {
    const first = await start()
    await first.query('create table kept as select 42 as answer')
    expect(await first.query('show fsync')).toEqual([{ fsync: 'on' }])
    expect(await first.query('show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
    await first.stop()
    expect(await startOf(first.pid)).toBeUndefined()

    const second = await start()
    expect(await second.query('select answer from kept')).toEqual([{ answer: 42 }])
    await second.stop()
  })

  test('starts over a postmaster.pid whose number is another process by now', async () => {
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
    expect(await startOf(orphan.pid)).toBeUndefined()
    await next.stop()
  })

  test('makes a database once', async () => {
    const server = await start()
    await ensureDatabase(server.port, 'leads')
    await ensureDatabase(server.port, 'leads')
    expect(await server.query(`select datname from pg_database where datname = 'leads'`)).toHaveLength(1)
    await server.stop()
  })

  asRoot('as root, the server is another user, and the data its own', async () => {
    const server = await start()
    const { uid } = statSync(join(room, 'postgres'))
    expect(uid).not.toBe(0)
    expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toMatch(new RegExp(`^Uid:\\t${uid}\\t`, 'm'))
    await server.stop()
  })

  asRoot('as root, in a folder closed to others, the data is a link to where the server may go', async () => {
    chmodSync(room, 0o700)
    const server = await start()
    await server.query('create table kept ()')
    await server.stop()
    const again = await start()
    expect(await again.query('select count(*)::int from kept')).toEqual([{ count: 0 }])
    await again.stop()
    rmSync(dirname(realpathSync(join(room, 'postgres'))), { recursive: true })
  })

  asRoot('data that belongs to root is refused with what to do', async () => {
    await expect(runAs(room)).rejects.toThrow('LEADWIRE_DATA')
  })
})
