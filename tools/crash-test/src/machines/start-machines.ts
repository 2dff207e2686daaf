import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
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
import type { Machine } from './machine'
import { type Address, startAddress } from './start-address'
import { startMinioCluster } from './start-minio-cluster'
import { startNatsCluster } from './start-nats-cluster'
import { startPostgresPair } from './start-postgres-pair'

const REPLICAS = 2

interface Options {
  env: Record<string, string>
  asynchronous: boolean
}

type Closing = { machines: Machine[]; addresses: Address[] }

const startServers = async (
  data: string,
  onLine: (line: string) => void,
  { asynchronous }: Options,
  closing: Closing,
) => {
  const [postgres, nats, minio] = await Promise.all([
    startPostgresPair(data, { asynchronous, onLine }),
    startNatsCluster(data, onLine),
    startMinioCluster(data, onLine),
  ])
  closing.machines.push(...postgres.machines, ...nats.machines, ...minio.machines)
  closing.addresses.push(...postgres.addresses, minio.address)
  return { postgres, nats, minio }
}

type Servers = Awaited<ReturnType<typeof startServers>>

const startServices = async (
  data: string,
  onLine: (line: string) => void,
  { env }: Options,
  servers: Servers,
) => {
  const { postgres, nats, minio } = servers
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
      ...{
        WEBHOOK_ALLOW_HOSTS: '127.0.0.1',
        NATS_REPLICAS: '3',
        SMTP_URL: pathToFileURL(join(data, 'mail')).href,
      },
      ...env,
    },
  })
  return Promise.all(
    plans.map(async (plan) => {
      const child = await startService(plan, onLine)
      await whenReady(child, () => isReady(plan.health), { timeoutMs: 120_000 })
      return { ...child, plan }
    }),
  )
}

export type Machines = Awaited<ReturnType<typeof startMachines>>

/**
 * Starts every part as a process of its own, with the others of its kind beside it, as on many machines: three nats-servers,
 * PostgreSQL with a standby, four MinIO servers, two copies of each service, and addresses before those that clients know one of.
 * Nothing is started again when it dies.
 */
export const startMachines = async (options: Options) => {
  requireBuilt()
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-machines-'))
  // PostgreSQL runs as another user for root, and must be able to pass.
  await chmod(folder, 0o711)
  const lastLines: string[] = []
  const onLine = (line: string) => {
    lastLines.push(line)
    if (lastLines.length > 40) lastLines.shift()
  }
  const closing: Closing = { machines: [], addresses: [] }
  const stop = async () => {
    await Promise.all(
      closing.machines
        .slice()
        .reverse()
        .map((machine) => machine.stop()),
    )
    await Promise.all(closing.addresses.map((address) => address.stop()))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const servers = await startServers(folder, onLine, options, closing)
    const services = await startServices(folder, onLine, options, servers)
    closing.machines.unshift(...services)
    const gateways = services.filter(({ plan }) => plan.service === 'gateway')
    const balancer = await startAddress(gateways.map(({ plan }) => Number(new URL(plan.base!).port)))
    closing.addresses.push(balancer)
    const { LEADS_SERVICE_URL, WEBHOOK_SERVICE_URL, SERVICE_TOKEN } = gateways[0]!.plan.env
    const made = await createAccount({ grpc: LEADS_SERVICE_URL!, tokens: [SERVICE_TOKEN!] }, 'Crash test')
    const ground: Ground = {
      cli: { LEADS_SERVICE_URL, WEBHOOK_SERVICE_URL, SERVICE_TOKEN },
      base: `http://127.0.0.1:${balancer.port}`,
      token: made.token,
      accountId: made.account.id,
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
