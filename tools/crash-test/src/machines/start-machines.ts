import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createAccount,
  freePort,
  isReady,
  planServices,
  requireBuilt,
  s3Settings,
  startService,
  whenReady,
} from '@leadwire/embedded'
import type { Ground } from '../ground'
import type { Place } from './machine'
import { startAddress } from './start-address'
import { startMinioCluster } from './start-minio-cluster'
import { startNatsCluster } from './start-nats-cluster'
import { startPostgresPair } from './start-postgres-pair'

const REPLICAS = 2

interface Options {
  env: Record<string, string>
  asynchronous: boolean
}

const startServers = async (place: Place, { asynchronous }: Options) => {
  const [postgres, nats, minio] = await Promise.all([
    startPostgresPair(place, { asynchronous }),
    startNatsCluster(place),
    startMinioCluster(place),
  ])
  return { postgres, nats, minio }
}

type Servers = Awaited<ReturnType<typeof startServers>>

const startServices = async (
  { data, onLine, onStop }: Place,
  { env }: Options,
  { postgres, nats, minio }: Servers,
) => {
  const plans = await planServices({
    replicas: REPLICAS,
    gateway: { host: '127.0.0.1', port: await freePort() },
    databases: { leads: postgres.url('leads'), webhooks: postgres.url('webhooks') },
    nats: nats.url,
    store: s3Settings(minio.store),
    mail: join(data, 'mail'),
    serviceToken: randomBytes(24).toString('base64url'),
    encryptionKey: randomBytes(32).toString('base64'),
    env: {
      ...process.env,
      WEBHOOK_ALLOW_HOSTS: '127.0.0.1',
      NATS_REPLICAS: '3',
      ...env,
    },
  })
  return Promise.all(
    plans.map(async (plan) => {
      const child = await startService(plan, onLine)
      onStop(child.stop)
      await whenReady(child, () => isReady(plan.health), { timeoutMs: 120_000 })
      return { ...child, plan }
    }),
  )
}

export type Machines = Awaited<ReturnType<typeof startMachines>>

/**
 * Starts a deployment on many machines. Each machine is a separate process: three nats-servers, PostgreSQL
 * with a standby, four MinIO servers, and two copies of each service. A proxy stands in front of PostgreSQL,
 * MinIO and the gateways. A process that ends is not restarted.
 */
export const startMachines = async (options: Options) => {
  requireBuilt()
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-machines-'))
  // When root runs the test, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  const lastLines: string[] = []
  const onLine = (line: string) => {
    lastLines.push(line)
    if (lastLines.length > 40) lastLines.shift()
  }
  const stops: (() => Promise<unknown>)[] = []
  const onStop = (stop: () => Promise<unknown>) => {
    stops.push(stop)
  }
  const place: Place = { data: folder, onLine, onStop }
  const stop = async () => {
    for (const stopOne of stops.reverse()) await stopOne()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const servers = await startServers(place, options)
    const balancer = await startAddress([])
    place.onStop(balancer.stop)
    const base = `http://127.0.0.1:${balancer.port}`
    const env = { PUBLIC_URL: base, ...options.env }
    const services = await startServices(place, { ...options, env }, servers)
    const gateways = services.filter(({ plan }) => plan.service === 'gateway')
    balancer.moveTo(gateways.map(({ plan }) => Number(new URL(plan.base!).port)))
    const { LEADS_SERVICE_URL, WEBHOOK_SERVICE_URL, SERVICE_TOKEN } = gateways[0]!.plan.env
    const created = await createAccount({ grpc: LEADS_SERVICE_URL!, tokens: [SERVICE_TOKEN!] }, 'Crash test')
    const ground: Ground = {
      cli: { LEADS_SERVICE_URL, WEBHOOK_SERVICE_URL, SERVICE_TOKEN },
      base,
      token: created.token,
      accountId: created.account.id,
      databaseUrl: servers.postgres.url,
      lastLines,
      stop,
    }
    return { ground, services, ...servers }
  } catch (error) {
    await stop()
    throw new Error([error instanceof Error ? error.message : error, ...lastLines].join('\n  '))
  }
}
