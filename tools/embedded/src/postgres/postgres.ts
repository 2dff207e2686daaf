import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Child, startChild, whenReady } from '../process/child'
import type { Issued } from '../tls/authority'
import { findPostgresBinaries, type PostgresBinaries } from './binaries'
import { ensureCluster, superuser } from './cluster'
import { nameFor, runAs, type User } from './run-as'
import { clearStaleServer, renderCommandLineMark } from './stale-lock'

/** The server's certificate. With `only`, the server rejects TCP connections without TLS. */
export type PostgresTls = Issued & { only: boolean }

export type PostgresOptions = {
  dataDirectory: string
  port: number
  /** Whether data survives a crash of the machine. Only specs set false, which is faster. */
  durable: boolean
  tls?: PostgresTls | undefined
  /** Additional settings of PostgreSQL. */
  settings?: Record<string, string> | undefined
  /** A lock over the data. The server inherits it, so that the lock lasts as long as the server runs. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

export type PreparedPostgres = PostgresOptions & {
  binaries: PostgresBinaries
  user: User | undefined
}

/**
 * Creates the cluster if there is none, and removes the remains of a server that was not stopped properly.
 */
export async function preparePostgres(options: PostgresOptions): Promise<PreparedPostgres> {
  const user = await runAs(options.dataDirectory)
  const binaries = await findPostgresBinaries(user)
  await ensureCluster({ ...options, binaries, user })
  await clearStaleServer(options.dataDirectory)
  if (options.tls) await writeTls(options.dataDirectory, options.tls, user)
  return { ...options, binaries, user }
}

/**
 * Writes the files of TLS under PostgreSQL's default names. PostgreSQL accepts a key only if the user that
 * runs PostgreSQL owns the file.
 */
async function writeTls(dataDirectory: string, { cert, key }: Issued, user: User | undefined): Promise<void> {
  const contents = { 'server.crt': cert, 'server.key': key, [TLS_ONLY]: tlsOnly }
  for (const [name, content] of Object.entries(contents)) {
    const path = join(dataDirectory, name)
    await writeFile(path, content, { mode: 0o600 })
    if (user) await chown(path, user.uid, user.gid)
  }
}

/**
 * Starts the server. Resolves when the process has a pid, before it accepts connections (see postgresReady).
 */
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
  const folder = nameFor(user, dataDirectory)
  const settings = {
    ...always,
    ...(durable ? {} : withoutDurability),
    ...given,
    ...(tls && { ssl: 'on' }),
    ...(tls?.only && { hba_file: join(folder, TLS_ONLY) }),
  }
  return startChild({
    name: 'postgres',
    command: binaries.postgres,
    args: [
      ...renderCommandLineMark(dataDirectory),
      '-D',
      folder,
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      // Creates the Unix socket in the data folder. A relative path is never too long for a socket.
      '-k',
      '.',
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: dataDirectory,
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    user,
    lock,
    onLine,
    // Requests a fast shutdown, which ends sessions and does not wait for clients (PostgreSQL manual,
    // "Shutting Down the Server").
    stopSignal: 'SIGINT',
  })
}

export type PostgresServer = Child & {
  /** Returns a superuser's URL over TCP. */
  url(database?: string): string
}

/** Prepares and starts a server without supervision, and waits until it accepts connections. */
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

/** Returns a superuser's URL. With `caFile` connections use TLS and verify the server's certificate. */
export function postgresUrl(
  port: number,
  database: string,
  { host = '127.0.0.1', caFile }: { host?: string; caFile?: string | undefined } = {},
): string {
  const query =
    caFile === undefined ? '' : `?${new URLSearchParams({ sslmode: 'verify-full', sslrootcert: caFile })}`
  return `postgresql://${superuser}@${host}:${port}/${database}${query}`
}

// On all systems, the path of a Unix socket may have 103 bytes. The slash and the socket's name take up to 16
// of them, so 87 are left for the folder.
const LONGEST_FOLDER = 87

/**
 * Returns a superuser's URL over the Unix socket, or over TCP if the data folder's path is too long for a
 * socket.
 */
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

/** Creates a database if it does not exist. */
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
  // Runs autovacuum often, because the outbox and the open deliveries change fast. The first statistics also
  // replace the plans that PostgreSQL made for empty tables.
  autovacuum_naptime: '10s',
}

const withoutDurability = {
  // Raises the limit, because each worker of a test run may start a whole system with two copies of each
  // service.
  max_connections: '1000',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum_naptime: '10min',
  // Loads pg_stat_statements for a spec that counts the blocks that statements read. The maximum is high,
  // because the specs of one server use hundreds of databases.
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': '100000',
}
