import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Child, startChild, whenReady } from '../process/child'
import type { Issued } from '../tls/authority'
import { findPostgresBinaries, type PostgresBinaries } from './binaries'
import { ensureCluster, refuseLink, superuser } from './cluster'
import { nameFor, runAs, type User } from './run-as'
import { clearStaleServer, commandLineMark } from './stale-lock'

/** What the server shows, and whether it refuses connections over TCP without TLS. */
export type PostgresTls = Issued & { only: boolean }

export type PostgresOptions = {
  dataDirectory: string
  port: number
  /** False switches off everything that makes it survive a crash of the machine; for specs. */
  durable: boolean
  tls?: PostgresTls | undefined
  /** PostgreSQL's settings beside those that all servers have. */
  settings?: Record<string, string> | undefined
  /** A lock over the data, which lasts as long as the server too. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

export type PreparedPostgres = PostgresOptions & {
  binaries: PostgresBinaries
  user: User | undefined
}

/** Makes the cluster if it is new, and clears what a server left behind that was not stopped. */
export async function preparePostgres(options: PostgresOptions): Promise<PreparedPostgres> {
  await refuseLink(options.dataDirectory)
  const user = await runAs(options.dataDirectory)
  const binaries = await findPostgresBinaries(user)
  await ensureCluster({ ...options, binaries, user })
  await clearStaleServer(options.dataDirectory)
  if (options.tls) await writeTls(options.dataDirectory, options.tls, user)
  return { ...options, binaries, user }
}

/** By the names under which PostgreSQL looks for them. It takes a key only from its owner. */
async function writeTls(dataDirectory: string, { cert, key }: Issued, user: User | undefined): Promise<void> {
  const contents = { 'server.crt': cert, 'server.key': key, [TLS_ONLY]: tlsOnly }
  for (const [name, content] of Object.entries(contents)) {
    const path = join(dataDirectory, name)
    await writeFile(path, content, { mode: 0o600 })
    if (user) await chown(path, user.uid, user.gid)
  }
}

/** Starts the server; answers when it has a pid, before it takes connections (see postgresReady). */
export function spawnPostgres({
  dataDirectory,
  port,
  durable,
  tls,
  settings: given,
  lock,
  binaries,
  user,
  onLine,
}: PreparedPostgres): Promise<Child> {
  const place = nameFor(user, dataDirectory)
  const settings = {
    ...always,
    ...(durable ? {} : forgetful),
    ...given,
    ...(tls && { ssl: 'on' }),
    ...(tls?.only && { hba_file: join(place, TLS_ONLY) }),
  }
  return startChild({
    name: 'postgres',
    command: binaries.postgres,
    args: [
      ...commandLineMark(dataDirectory),
      // The Unix socket lies in the data folder, by a name that is never too long for one.
      ...['-D', place, '-p', String(port), '-h', '127.0.0.1', '-k', '.'],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: dataDirectory,
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    user,
    lock,
    onLine,
    // "Fast shutdown": sessions are ended, nobody waits for clients (PostgreSQL manual, "Shutting Down the Server").
    stopSignal: 'SIGINT',
  })
}

export type PostgresServer = Child & {
  /** A superuser's URL, over TCP. */
  url(database?: string): string
}

/** Prepares, starts and waits: a server for whoever needs no supervision. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const prepared = await preparePostgres(options)
  const child = await spawnPostgres(prepared)
  const url = (database = 'postgres') => postgresUrl(options.port, database)
  try {
    await whenReady(child, () => postgresReady(options.port), { timeoutMs: 60_000 })
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ...child, url }
}

/** With `caFile` connections are encrypted, and the server's certificate is checked by it. */
export function postgresUrl(
  port: number,
  database: string,
  { host = '127.0.0.1', caFile }: { host?: string; caFile?: string | undefined } = {},
): string {
  const query =
    caFile === undefined ? '' : `?${new URLSearchParams({ sslmode: 'verify-full', sslrootcert: caFile })}`
  return `postgresql://${superuser}@${host}:${port}/${database}${query}`
}

// A Unix socket's path has at most 103 bytes everywhere; its own name takes up to 16 of them.
const LONGEST_FOLDER = 87

/** A superuser's URL over the Unix socket, or over TCP where the data folder's name leaves no room for one. */
export function localPostgresUrl(
  { dataDirectory, port }: Pick<PostgresOptions, 'dataDirectory' | 'port'>,
  database: string,
): string {
  const hasRoom = Buffer.byteLength(dataDirectory) <= LONGEST_FOLDER
  return postgresUrl(port, database, hasRoom ? { host: encodeURIComponent(dataDirectory) } : {})
}

export async function postgresReady(port: number, caFile?: string | undefined): Promise<boolean> {
  const client = new pg.Client({
    connectionString: postgresUrl(port, 'postgres', { caFile }),
    connectionTimeoutMillis: 1000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } finally {
    await client.end().catch(() => {})
  }
}

/** Makes a database unless there is one of that name. */
export async function ensureDatabase(port: number, name: string, caFile?: string | undefined): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl(port, 'postgres', { caFile }) })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (!rowCount) await client.query(`create database ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}

const TLS_ONLY = 'pg_hba_tls.conf'
const tlsOnly = 'local all all trust\nhostssl all all all trust\n'

const always = {
  max_connections: '400',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '',
  listen_addresses: '127.0.0.1',
  // The outbox and open deliveries are small tables through which much flows, and plans made on empty tables end with the first
  // statistics.
  autovacuum_naptime: '10s',
}

const forgetful = {
  // Each worker of a test run may have a whole system, or two copies of one.
  max_connections: '1000',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum_naptime: '10min',
  // A spec counts what statements read; hundreds of databases are in one server.
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': '100000',
}
