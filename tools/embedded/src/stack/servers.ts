import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findMinio } from '../minio/find-minio'
import { minioReady, minioStore, spawnMinio } from '../minio/minio'
import { findNatsServer } from '../nats/find-nats-server'
import { natsReady, natsUrl, spawnNats } from '../nats/nats-server'
import {
  ensureDatabase,
  localPostgresUrl,
  postgresReady,
  postgresUrl,
  preparePostgres,
  spawnPostgres,
} from '../postgres/postgres'
import { clearStaleServer } from '../postgres/stale-lock'
import { freePort } from '../process/free-port'
import { whenServing } from '../process/when-serving'
import type { StackTls } from '../tls/stack-tls'
import type { Crew } from './crew'
import type { Log } from './log'
import { ensureSecret } from './secret-file'
import { s3Settings } from './services'
import type { StackOptions } from './stack-options'

/** The URLs of the servers. */
export type Servers = {
  postgres: string
  nats: string
  natsCaFile: string | undefined
  databases: { leads: string; webhooks: string }
  /** The settings of files-service for its store. */
  store: Record<string, string>
}

/** The programs to start, with their ports and folders. */
export type ServerPlan = {
  servers: Servers
  postgres: { dataDirectory: string; port: number }
  nats: { port: number; password: string; binary: string }
  minio: { port: number; binary: string } | undefined
}

/** Each promise resolves when its server is ready. */
export type Started = { postgres: Promise<void>; nats: Promise<void>; store: Promise<void> }

type Context = {
  crew: Crew
  options: StackOptions
  env: NodeJS.ProcessEnv
  log: Log
  signal: AbortSignal
  /** The lock over the data, which each server inherits. */
  lock: { fd: number }
  tls: StackTls | undefined
}

/** Finds the programs (downloads or builds missing ones), and chooses the addresses. */
export async function planServers({ options, env, log, signal, tls }: Context): Promise<ServerPlan> {
  const [natsBinary, natsPassword, minioBinary, postgresPort, natsPort, minioPort] = await Promise.all([
    findNatsServer(env, log.say),
    ensureSecret(join(options.data, 'nats-password')),
    options.minio ? findMinio(env, { say: log.say, signal }) : undefined,
    freePort(),
    freePort(),
    freePort(),
  ])
  const postgres = { dataDirectory: join(options.data, 'postgres'), port: postgresPort }
  const directory = { STORE_URL: env['STORE_URL'] || pathToFileURL(join(options.data, 'files')).href }
  const caFile = tls?.services.caFile
  // Uses TCP with TLS, because a Unix socket has no TLS.
  const databaseUrl = (name: string) =>
    tls ? postgresUrl(postgresPort, name, { caFile }) : localPostgresUrl(postgres, name)
  return {
    servers: {
      postgres: postgresUrl(postgresPort, 'postgres', { caFile }),
      nats: natsUrl({ port: natsPort, password: natsPassword, tls: tls?.nats }),
      natsCaFile: caFile,
      databases: { leads: databaseUrl('leads'), webhooks: databaseUrl('webhooks') },
      store: minioBinary ? s3Settings(minioStore(minioPort, tls?.minio)) : directory,
    },
    postgres,
    nats: { port: natsPort, password: natsPassword, binary: natsBinary },
    minio: minioBinary ? { port: minioPort, binary: minioBinary } : undefined,
  }
}

/** Starts PostgreSQL, NATS and, if the plan has it, MinIO at the same time. */
export function startServers(context: Context, { postgres, nats, minio }: ServerPlan): Started {
  return {
    postgres: startPostgresServer(context, postgres),
    nats: startNats(context, nats),
    store: minio ? startMinio(context, minio) : Promise.resolve(),
  }
}

async function startPostgresServer(
  { crew, log, signal, lock, tls }: Context,
  { dataDirectory, port }: ServerPlan['postgres'],
): Promise<void> {
  const isNew = !existsSync(join(dataDirectory, 'PG_VERSION'))
  log.say(isNew ? 'creating the databases and starting PostgreSQL' : 'starting PostgreSQL')
  const write = log.forProcess('postgres')
  let complete = false
  const prepared = await preparePostgres({
    dataDirectory,
    port,
    durable: true,
    lock,
    tls: tls && { ...tls.postgres, only: true },
    onLine: (line) => {
      // Hides the error of a service that connects before its database exists. The service connects again.
      if (complete || !/FATAL: +database "\w+" does not exist/.test(line)) write(line)
    },
  })
  const server = crew.add('postgres', async () => {
    await clearStaleServer(prepared.dataDirectory)
    return spawnPostgres(prepared)
  })
  // Waits long, because PostgreSQL replays its log after a crash.
  await whenServing(server, () => postgresReady(port, tls?.services.caFile), { timeoutMs: 300_000, signal })
  if (signal.aborted) return
  await Promise.all(['leads', 'webhooks'].map((name) => ensureDatabase(port, name, tls?.services.caFile)))
  complete = true
  log.say('PostgreSQL is ready; leads-service and webhook-service are migrating their databases')
}

async function startNats(
  { crew, options, log, signal, lock, tls }: Context,
  { binary, port, password }: ServerPlan['nats'],
): Promise<void> {
  log.say('starting nats-server')
  const directory = join(options.data, 'nats')
  const write = log.forProcess('nats')
  const onLine = (line: string) => {
    // Hides the errors that the stack's own readiness checks cause, because these checks connect without TLS.
    if (!/TLS handshake error: EOF/.test(line)) write(line)
  }
  const server = crew.add('nats', () =>
    spawnNats({ binary, directory, port, password, tls: tls?.nats, lock, onLine }),
  )
  await whenServing(server, () => natsReady(port), { timeoutMs: 120_000, signal })
}

async function startMinio(
  { crew, options, log, signal, lock, tls }: Context,
  { binary, port }: NonNullable<ServerPlan['minio']>,
): Promise<void> {
  log.say('starting MinIO')
  const directory = join(options.data, 'minio')
  const store = minioStore(port, tls?.minio)
  const server = crew.add('minio', () =>
    spawnMinio({ binary, directory, port, tls: tls?.minio, lock, onLine: log.forProcess('minio') }),
  )
  await whenServing(server, () => minioReady(store), { timeoutMs: 120_000, signal })
}
