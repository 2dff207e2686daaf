import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Account,
  type Authority,
  type Child,
  createAccount,
  createAuthority,
  createSignInLink,
  freePort,
  isReady,
  planServices,
  requireBuilt,
  type ServicePlan,
  type ServicesTls,
  startService,
  whenReady,
  writeAuthorities,
  writeCertificate,
} from '@leadwire/embedded'
import { createDatabase, createTemplateDatabase, type TestDatabase } from './database'
import { fromGlobalSetup } from './environment'
import { migrate, settingsToMigrate } from './migrate'
import { startNats, type TestNats } from './nats'
import { type ObjectStoreDirectory, objectStoreDirectory } from './object-store-directory'
import type { TestPooler } from './pooler'
import { watchProcess } from './watch-process'

export type SystemOptions = {
  /**
   * Settings of the services. They override the defaults for specs, such as WEBHOOK_ALLOW_HOSTS, which allows
   * webhooks to loopback addresses.
   */
  env?: Record<string, string>
  replicas?: number
  /** The settings of the file store. By default it is a folder. */
  store?: Record<string, string> | undefined
  /**
   * Whether the services, PostgreSQL and NATS use TLS between each other. Default: whether LEADWIRE_TEST_TLS
   * is 1.
   */
  tls?: boolean
  /** A superuser's URL. Default: the URL of the server that all specs share. */
  postgres?: string
  /** The pooler between the services and PostgreSQL. */
  pooler?: Pick<TestPooler, 'through'>
  /** The root of another checkout, which must be built. The system runs the services of that checkout. */
  root?: string | undefined
}

/**
 * The certificates that the services of an encrypted system present to each other. `folder` has `cert.pem`,
 * `key.pem` and `ca.pem`.
 */
export type SystemTls = { folder: string; authority: Authority; files: ServicesTls }

export type LogLine = { name: string; level?: string; msg?: string; [field: string]: unknown }

export type System = {
  /** The URL of the first gateway, without a trailing slash. */
  baseUrl: string
  /** A token of `account` with the scopes leads and manage. */
  token: string
  account: Account
  databases: { leads: TestDatabase; webhooks: TestDatabase }
  nats: TestNats
  /** The token that services send to each other. */
  serviceToken: string
  tls: SystemTls | undefined
  /** All copies of all services (`gateway`, `gateway-2` …) and their addresses. */
  services: ServicePlan[]
  pid(name: string): number
  /** Returns the log lines written so far, by one copy or by all. */
  logs(name?: string): LogLine[]
  /** Kills a copy with SIGKILL. The copy stays down until `restart`. */
  kill(name: string): Promise<void>
  /** Drains a copy and waits until it has exited. The copy stays down until `restart`. */
  drain(name: string): Promise<void>
  /**
   * Stops a copy if it runs, starts it at the same address, and waits until it is ready. `root` is as in
   * SystemOptions.
   */
  restart(name: string, root?: string): Promise<void>
  /** Creates a further account with its own token. */
  createAccount(name: string): Promise<{ account: Account; token: string }>
  /** Creates a link with which a user signs in. */
  createSignInLink(user: { accountId: number; userId: number }): Promise<string>
  stop(): Promise<void>
}

/**
 * The parts of a shared system that a spec file may use. A file must neither stop a process nor examine what
 * the system does for other files.
 */
export type SharedSystem = Pick<
  System,
  | 'baseUrl'
  | 'token'
  | 'account'
  | 'databases'
  | 'serviceToken'
  | 'services'
  | 'createAccount'
  | 'createSignInLink'
  | 'stop'
>

/**
 * Joins a shared system, and creates a new account for this file. All spec files that join with the same
 * settings in one run share one system. The system uses TLS if LEADWIRE_TEST_TLS is 1. The system starts for
 * the first file that joins it, and stops at the end of the run (global-setup.cjs).
 */
export async function joinSystem({ env }: Pick<SystemOptions, 'env'> = {}): Promise<SharedSystem> {
  const path = process.env['LEADWIRE_TEST_TLS'] === '1' ? '/tls' : '/'
  const answer = await fetch(`${fromGlobalSetup('LEADWIRE_TEST_SYSTEM')}${path}?${new URLSearchParams(env)}`)
  if (!answer.ok) throw new Error(await answer.text())
  const system = (await answer.json()) as SharedSystem & Pick<System, 'tls'>
  const operator = actAsOperator(system)
  return { ...system, ...operator, ...(await operator.createAccount('Spec')), stop: async () => undefined }
}

/** Makes functions that call leads-service as the command line of operators does. */
const actAsOperator = ({
  services,
  serviceToken,
  tls,
}: Pick<System, 'services' | 'serviceToken' | 'tls'>) => {
  const grpc = services.find(({ service }) => service === 'leads-service')!.grpc!
  const address = { grpc, tokens: [serviceToken], tls: tls?.files }
  const consoleUrl = `${services.find(({ name }) => name === 'gateway')!.base!}/console`
  return {
    createAccount: (name: string) => createAccount(address, name),
    createSignInLink: (user: { accountId: number; userId: number }) =>
      createSignInLink(address, { ...user, consoleUrl }),
  }
}

/**
 * Starts the four built services for this spec file alone, with their own databases, nats-server and file
 * store. Takes about two seconds. Throws if a service is not built or does not become ready. The error
 * contains the service's last log lines.
 */
export async function startSystem({
  env = {},
  replicas = 1,
  store,
  tls: isEncrypted = process.env['LEADWIRE_TEST_TLS'] === '1',
  postgres,
  pooler,
  root,
}: SystemOptions = {}): Promise<System> {
  requireBuilt()
  // On the shared server, databases are copies of a database that was migrated once. Services of another
  // release, or on another server, migrate their databases themselves.
  const makeDatabase = async (name: keyof typeof SERVICES) =>
    createDatabase({ name, server: postgres, ...(!postgres && !root && { template: await migrated(name) }) })
  const tls = isEncrypted ? await makeTls() : undefined
  const [leads, webhooks, nats, files, port] = await Promise.all([
    makeDatabase('leads'),
    makeDatabase('webhooks'),
    startNats({ tls: tls?.natsFiles }),
    objectStoreDirectory(),
    freePort(),
  ])
  const serviceToken = randomBytes(24).toString('base64url')
  const chooseUrl = ({ url, tlsUrl }: TestDatabase) => pooler?.through(url) ?? (tls ? tlsUrl : url)
  const services = await planServices({
    replicas,
    gateway: { host: '127.0.0.1', port },
    databases: { leads: chooseUrl(leads), webhooks: chooseUrl(webhooks) },
    nats: nats.url,
    natsCaFile: nats.caFile,
    store: store ?? { STORE_URL: files.url },
    mail: join(files.path, 'mail'),
    serviceToken,
    encryptionKey: randomBytes(32).toString('base64'),
    tls: tls?.files,
    env: {
      ...process.env,
      WEBHOOK_ALLOW_HOSTS: '127.0.0.0/8,::1,localhost',
      // Turns off the search for duplicates. Specs create many leads of one person, and each such lead would
      // cause one more event.
      DUPLICATE_WINDOW: '0s',
      ...env,
    },
  })
  const processes = createProcesses(services)
  const stop = async () => {
    try {
      await processes.stop()
    } finally {
      await removeGround({ leads, webhooks, nats, files, tls })
    }
  }
  try {
    await Promise.all(services.map(({ name }) => processes.restart(name, root)))
    const operator = actAsOperator({ services, serviceToken, tls })
    const { account, token } = await operator.createAccount('Spec')
    const baseUrl = services.find(({ name }) => name === 'gateway')!.base!
    const databases = { leads, webhooks }
    return {
      baseUrl,
      token,
      account,
      databases,
      nats,
      serviceToken,
      tls,
      services,
      ...processes,
      ...operator,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const SERVICES = { leads: 'leads-service', webhooks: 'webhook-service' } as const

const migrated = (name: keyof typeof SERVICES) =>
  createTemplateDatabase(`system_${name}`, (url) => migrate(SERVICES[name], settingsToMigrate(url)))

async function makeTls(): Promise<SystemTls & { natsFiles: ServicesTls }> {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-tls-'))
  const authority = await createAuthority()
  const filesIn = async (directory: string) => {
    const caFile = await writeAuthorities(directory, [authority])
    return { ...(await writeCertificate(directory, await authority.issue('spec'))), caFile }
  }
  // NATS has its own certificate files, so that a spec can replace the certificates of the services without
  // those of NATS.
  return { folder, authority, files: await filesIn(folder), natsFiles: await filesIn(join(folder, 'nats')) }
}

function createProcesses(services: ServicePlan[]) {
  const lines: LogLine[] = []
  const running = new Map<string, Child>()
  const child = (name: string) => {
    const found = running.get(name)
    if (!found) throw new Error(`there is no ${name}; there are ${[...running.keys()].join(', ')}`)
    return found
  }
  const restart = async (name: string, root?: string) => {
    const plan = services.find((candidate) => candidate.name === name)
    if (!plan) throw new Error(`there is no ${name}`)
    await running.get(name)?.stop()
    const started = watchProcess(await startService(plan, (line) => lines.push(parse(name, line)), root))
    running.set(name, started)
    await whenReady(started, () => isReady(plan.health), { timeoutMs: 60_000 })
  }
  const stop = async () => {
    const alive = [...running.values()].filter((one) => !one.hasExited())
    const stopAll = (some: Child[]) =>
      Promise.all(some.map(async (one) => ({ name: one.name, ...(await one.stop()) })))
    const isGateway = ({ name }: Child) => name.startsWith('gateway')
    const gateways = await stopAll(alive.filter(isGateway))
    const others = await stopAll(alive.filter((one) => !isGateway(one)))
    const stubborn = [...gateways, ...others]
      .filter(({ signal }) => signal === 'SIGKILL')
      .map(({ name }) => name)
    if (stubborn.length > 0) throw new Error(`did not drain and had to be killed: ${stubborn.join(', ')}`)
  }
  return {
    pid: (name: string) => child(name).pid,
    logs: (name?: string) => lines.filter((line) => name === undefined || line.name === name),
    kill: async (name: string) => {
      child(name).kill('SIGKILL')
      await child(name).exited
    },
    drain: async (name: string) => void (await child(name).stop()),
    restart,
    stop,
  }
}

function parse(name: string, line: string): LogLine {
  try {
    return { ...(JSON.parse(line) as object), name }
  } catch {
    return { name, msg: line }
  }
}

async function removeGround(ground: {
  leads: TestDatabase
  webhooks: TestDatabase
  nats: TestNats
  files: ObjectStoreDirectory
  tls: SystemTls | undefined
}): Promise<void> {
  await Promise.all([ground.leads.drop(), ground.webhooks.drop(), ground.nats.stop(), ground.files.remove()])
  if (ground.tls) await rm(ground.tls.folder, { recursive: true })
}
