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

/** How far the asynchronous standby is behind the primary when the primary is lost. */
const LAG_MS = 2000
/** How long it takes until the loss of the primary is noticed. */
const DETECTION_MS = 5000

const query = async (port: number, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: postgresUrl(port, 'postgres') })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/**
 * Prepares a primary and a standby. The standby gets a copy of the primary's folder before the first start.
 */
const prepareBoth = async ({ data, onLine, onStop }: Place) => {
  const primary = await preparePostgres({
    durable: true,
    onLine,
    dataDirectory: join(data, 'postgres-1'),
    port: await freePort(),
  })
  const replication = await startAddress([primary.port])
  onStop(replication.stop)
  const dataDirectory = join(data, 'postgres-2')
  await promisify(execFile)('cp', ['-a', primary.dataDirectory, dataDirectory])
  const signalFile = join(dataDirectory, 'standby.signal')
  await writeFile(signalFile, '')
  if (primary.user) await chown(signalFile, primary.user.uid, primary.user.gid)
  const source = `${postgresUrl(replication.port, 'postgres')}?application_name=standby`
  const standby = await preparePostgres({
    durable: true,
    onLine,
    dataDirectory,
    port: await freePort(),
    settings: { primary_conninfo: source },
  })
  return { primary, standby, replication }
}

/** Makes every commit wait until the standby has written it to its disk. */
const enableSynchronousReplication = async (port: number): Promise<void> => {
  await query(port, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
  await query(port, 'SELECT pg_reload_conf()')
}

/** Starts PostgreSQL with a standby, behind an address that can move to the standby. */
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
  if (!asynchronous) await enableSynchronousReplication(primary.port)
  const isReplicating = async () => {
    const standbys = await query(primary.port, 'SELECT state, sync_state FROM pg_stat_replication')
    return standbys.some(({ state, sync_state }) => state === 'streaming' && sync_state === expected)
  }
  await poll(isReplicating, { what: 'the standby to replicate', timeoutMs: 60_000 })
  await Promise.all(['leads', 'webhooks'].map((name) => ensureDatabase(primary.port, name)))
  const address = await startAddress([primary.port])
  place.onStop(address.stop)
  return {
    url: (database: string): string => postgresUrl(address.port, database),
    /** Loses the primary, promotes the standby, and moves the address to the standby. */
    failOver: async (): Promise<void> => {
      if (asynchronous) {
        replication.vanish()
        await pause(LAG_MS)
      }
      address.vanish()
      await loseMachine(machine)
      await pause(DETECTION_MS)
      await query(standby.port, 'SELECT pg_promote()')
      address.moveTo([standby.port])
    },
  }
}
