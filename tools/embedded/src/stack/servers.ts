import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findMinio } from '../minio/find-minio'
import { ensureBucket, minioReady, minioStore, spawnMinio } from '../minio/minio'
import { findNatsServer } from '../nats/find-nats-server'
import { natsReady, natsUrl, spawnNats } from '../nats/nats-server'
import {
  ensureDatabase,
  postgresReady,
  postgresUrl,
  preparePostgres,
  spawnPostgres,
} from '../postgres/postgres'
import { clearStaleServer } from '../postgres/stale-lock'
import { freePort } from '../process/free-port'
import { whenServing } from '../process/when-serving'
import type { Crew } from './crew'
import type { Log } from './log'
import type { StackOptions } from './options'
import { s3Settings } from './services'

export type Servers = {
  postgres: string
  nats: string
  databases: { leads: string; webhooks: string }
  /** The settings of files-service that say where files are kept. */
  store: Record<string, string>
}

type Context = { crew: Crew; options: StackOptions; env: NodeJS.ProcessEnv; log: Log; signal: AbortSignal }

/** Starts PostgreSQL, NATS and, when asked for, MinIO side by side. */
export async function startServers(context: Context): Promise<Servers> {
  const [postgresPort, nats, store] = await Promise.all([
    startPostgresServer(context),
    startNats(context),
    startStore(context),
  ])
  const database = (name: string) => postgresUrl(postgresPort, name)
  return {
    postgres: database('postgres'),
    nats,
    databases: { leads: database('leads'), webhooks: database('webhooks') },
    store,
  }
}

async function startPostgresServer({ crew, options, log, signal }: Context): Promise<number> {
  const port = await freePort()
  const prepared = await preparePostgres({
    dataDirectory: join(options.data, 'postgres'),
    port,
    durable: true,
    onLine: log.of('postgres'),
  })
  const server = crew.add('postgres', async () => {
    await clearStaleServer(prepared.dataDirectory)
    return spawnPostgres(prepared)
  })
  // After a crash it first replays its log, which takes as long as it takes.
  await whenServing(server, () => postgresReady(port), { timeoutMs: 300_000, signal })
  if (signal.aborted) return port
  await Promise.all(['leads', 'webhooks'].map((name) => ensureDatabase(port, name)))
  return port
}

async function startNats({ crew, options, env, log, signal }: Context): Promise<string> {
  const port = await freePort()
  const binary = await findNatsServer(env, log.say)
  const directory = join(options.data, 'nats')
  const server = crew.add('nats', () => spawnNats({ binary, directory, port, onLine: log.of('nats') }))
  await whenServing(server, () => natsReady(port), { timeoutMs: 120_000, signal })
  return natsUrl(port)
}

async function startStore({ crew, options, env, log, signal }: Context): Promise<Record<string, string>> {
  if (!options.minio)
    return { STORE_URL: env['STORE_URL'] || pathToFileURL(join(options.data, 'files')).href }
  const port = await freePort()
  const binary = await findMinio(env, { say: log.say, signal })
  const directory = join(options.data, 'minio')
  const server = crew.add('minio', () => spawnMinio({ binary, directory, port, onLine: log.of('minio') }))
  await whenServing(server, () => minioReady(port), { timeoutMs: 120_000, signal })
  if (!signal.aborted) await ensureBucket(minioStore(port))
  return s3Settings(minioStore(port))
}
