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
  /** Settings of the services, over the defaults of this one: webhooks may go to loopback, everything is logged. */
  env?: Record<string, string>
  replicas?: number
  /** The settings that say where files are kept; a folder unless told otherwise. */
  store?: Record<string, string> | undefined
  /** Encrypts what services, PostgreSQL and NATS say to each other; LEADWIRE_TEST_TLS=1 does so wherever nothing else is said. */
  tls?: boolean
  /** A superuser's URL of a server other than that of all specs. */
  postgres?: string
  /** Between the services and PostgreSQL. */
  pooler?: Pick<TestPooler, 'through'>
  /** Another checkout, built, whose services are run. */
  root?: string | undefined
}

/** What the services of an encrypted system show each other: in the folder `cert.pem`, `key.pem` and `ca.pem`. */
export type SystemTls = { folder: string; authority: Authority; files: ServicesTls }

export type LogLine = { name: string; level?: string; msg?: string; [field: string]: unknown }

export type System = {
  /** The first gateway's; no slash at its end. */
  baseUrl: string
  /** Of the account below, with the scopes leads and manage. */
  token: string
  account: Account
  databases: { leads: TestDatabase; webhooks: TestDatabase }
  nats: TestNats
  /** What the services show each other. */
  serviceToken: string
  tls: SystemTls | undefined
  /** Every copy: `gateway`, `gateway-2` …, with where it listens. */
  services: ServicePlan[]
  pid(name: string): number
  /** The JSON lines written so far, by one copy or by all. */
  logs(name?: string): LogLine[]
  /** kill -9; it stays down until it is restarted. */
  kill(name: string): Promise<void>
  /** Asks a copy to stop, waits until it is gone; it stays down until it is restarted. */
  drain(name: string): Promise<void>
  /** Starts a copy (stopping it first, if it runs) where it was, and waits until it is ready. `root`: as for the system. */
  restart(name: string, root?: string): Promise<void>
  /** A further account with a token of its own. */
  createAccount(name: string): Promise<{ account: Account; token: string }>
  stop(): Promise<void>
}

/** What the files that share a system may use of it: none of them stops a part, or looks at what it does for others. */
export type SharedSystem = Pick<
  System,
  'baseUrl' | 'token' | 'account' | 'databases' | 'serviceToken' | 'services' | 'createAccount' | 'stop'
>

/**
 * The system with these settings (on TLS under LEADWIRE_TEST_TLS=1) that all spec files of a run share, with an account of
 * this file's own. It is started for the first of them and stopped at the end of the run (global-setup.cjs).
 */
export async function joinSystem({ env }: Pick<SystemOptions, 'env'> = {}): Promise<SharedSystem> {
  const path = process.env['LEADWIRE_TEST_TLS'] === '1' ? '/tls' : '/'
  const answer = await fetch(`${fromGlobalSetup('LEADWIRE_TEST_SYSTEM')}${path}?${new URLSearchParams(env)}`)
  if (!answer.ok) throw new Error(await answer.text())
  const system = (await answer.json()) as SharedSystem & Pick<System, 'tls'>
  const newAccount = accountsOf(system)
  return { ...system, ...(await newAccount('Spec')), createAccount: newAccount, stop: async () => undefined }
}

const accountsOf =
  ({ services, serviceToken, tls }: Pick<System, 'services' | 'serviceToken' | 'tls'>) =>
  (name: string) => {
    const grpc = services.find(({ service }) => service === 'leads-service')!.grpc!
    return createAccount({ grpc, tokens: [serviceToken], tls: tls?.files }, name)
  }

/**
 * The four services as they were built, on databases, a nats-server and a file store of this spec file's own. Takes
 * about two seconds.
 * @throws when a service is not built or does not get ready, with its last lines
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
  // The server of all specs migrates once; services of another release, or on another server, do so themselves.
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
  const urlOf = ({ url, tlsUrl }: TestDatabase) => pooler?.through(url) ?? (tls ? tlsUrl : url)
  const services = await planServices({
    replicas,
    gateway: { host: '127.0.0.1', port },
    databases: { leads: urlOf(leads), webhooks: urlOf(webhooks) },
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
      // Leads of specs are of one person: each would have one more event.
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
    const newAccount = accountsOf({ services, serviceToken, tls })
    const { account, token } = await newAccount('Spec')
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
      createAccount: newAccount,
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
  // Apart, so that a spec can replace what the services show each other.
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
