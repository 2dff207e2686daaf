import { execFile } from 'node:child_process'
import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  ensureDatabase,
  freePort,
  poll,
  postgresReady,
  postgresUrl,
  preparePostgres,
  spawnPostgres,
  whenReady,
} from '@leadwire/embedded'
import { Client } from 'pg'
import { loseMachine, type Place } from './machine'
import { startAddress } from './start-address'

/** How far an asynchronous standby is behind when the primary is lost. */
const BEHIND_MS = 2000
/** How long it takes whoever watches over PostgreSQL to see that the primary is lost. */
const NOTICED_AFTER_MS = 5000

const query = async (port: number, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: postgresUrl(port, 'postgres') })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A server that PostgreSQL's own copy of it follows: its folder is copied before it runs for the first time. */
const prepareBoth = async ({ data, onLine, onStop }: Place) => {
  const options = { durable: true, onLine }
  const primary = await preparePostgres({
    ...{ ...options, dataDirectory: join(data, 'postgres-1'), port: await freePort() },
  })
  const replication = await startAddress([primary.port])
  onStop(replication.stop)
  const dataDirectory = join(data, 'postgres-2')
  await promisify(execFile)('cp', ['-a', primary.dataDirectory, dataDirectory])
  const mark = join(dataDirectory, 'standby.signal')
  await writeFile(mark, '')
  if (primary.user) await chown(mark, primary.user.uid, primary.user.gid)
  const source = `${postgresUrl(replication.port, 'postgres')}?application_name=standby`
  const standby = await preparePostgres({
    ...{ ...options, dataDirectory, port: await freePort(), settings: { primary_conninfo: source } },
  })
  return { primary, standby, replication }
}

/** Has every commit wait until the standby has it on its disk. */
const beSynchronous = async (port: number): Promise<void> => {
  await query(port, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
  await query(port, 'SELECT pg_reload_conf()')
}

/** PostgreSQL with a standby, behind an address that moves. */
export const startPostgresPair = async (place: Place, { asynchronous }: { asynchronous: boolean }) => {
  const { primary, standby, replication } = await prepareBoth(place)
  const start = async (prepared: typeof primary) => {
    const child = await spawnPostgres(prepared)
    place.onStop(child.stop)
    await whenReady(child, () => postgresReady(prepared.port), { timeoutMs: 60_000 })
    return child
  }
  const machine = await start(primary)
  await start(standby)
  const expected = asynchronous ? 'async' : 'sync'
  if (!asynchronous) await beSynchronous(primary.port)
  const follows = async () =>
    (await query(primary.port, 'SELECT state, sync_state FROM pg_stat_replication')).some(
      ({ state, sync_state }) => state === 'streaming' && sync_state === expected,
    )
  await poll(follows, { what: 'the standby to follow', timeoutMs: 60_000 })
  await Promise.all(['leads', 'webhooks'].map((name) => ensureDatabase(primary.port, name)))
  const address = await startAddress([primary.port])
  place.onStop(address.stop)
  return {
    url: (database: string): string => postgresUrl(address.port, database),
    /** Loses the primary without a word, promotes the standby, and moves the address to it. */
    failOver: async (): Promise<void> => {
      if (asynchronous) {
        replication.vanish()
        await pause(BEHIND_MS)
      }
      address.vanish()
      await loseMachine(machine)
      await pause(NOTICED_AFTER_MS)
      await query(standby.port, 'SELECT pg_promote()')
      address.moveTo([standby.port])
    },
  }
}
