import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { hash } from 'bcryptjs'
import { type Child, startChild, whenReady } from '../process/child'
import type { CertificateFiles } from '../tls/tls-files'

export type NatsOptions = {
  binary: string
  /** The folder of the server's configuration and of JetStream's store. */
  directory: string
  port: number
  /** The password of the only user, `leadwire`. It must need no encoding in a URL. */
  password: string
  /** If set, clients must use TLS. */
  tls?: CertificateFiles | undefined
  cluster?: NatsCluster | undefined
  /** A lock over the data. The server inherits it, so that the lock lasts as long as the server runs. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

/** A server of a cluster. Streams of a cluster may have several replicas. */
export type NatsCluster = {
  name: string
  /** The port for connections from the other servers. */
  port: number
  /** The cluster ports of all servers. */
  routes: number[]
  /** The port of the HTTP monitoring. */
  monitorPort: number
}

const USER = 'leadwire'

/**
 * The minimum cost of bcrypt. A random password needs no more, and nats-server pays the cost at each
 * connection.
 */
const HASH_COST = 4

/** Starts nats-server. Resolves when the process has a pid, before it accepts connections (see natsReady). */
export async function spawnNats({
  binary,
  directory,
  port,
  password,
  tls,
  cluster,
  lock,
  onLine,
}: NatsOptions): Promise<Child> {
  const config = join(directory, 'nats-server.conf')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const passwordHash = await hash(password, HASH_COST)
  const store = join(directory, 'jetstream')
  const settings = renderConfiguration({ port, passwordHash, tls, cluster, store })
  await writeFile(config, settings, { mode: 0o600 })
  // Limits Go to one running thread. One thread suffices, because nats-server keeps it busy for at most a
  // seventh of the time. With more threads, each message wakes several threads that find no work. This took a
  // quarter of nats-server's processor time for a single create, and delayed other processes.
  const env = { ...process.env, GOMAXPROCS: process.env['GOMAXPROCS'] || '1' }
  return startChild({
    name: 'nats',
    command: binary,
    args: ['--config', config],
    cwd: directory,
    env,
    lock,
    onLine,
  })
}

export type NatsServer = Child & { url: string }

/** Starts nats-server and waits until JetStream is ready. */
export async function startNatsServer(options: NatsOptions): Promise<NatsServer> {
  const child = await spawnNats(options)
  try {
    await whenReady(child, () => natsReady(options.port), { timeoutMs: 60_000 })
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ...child, url: natsUrl(options) }
}

export function natsUrl({ port, password, tls }: Pick<NatsOptions, 'port' | 'password' | 'tls'>): string {
  return `${tls ? 'tls' : 'nats'}://${USER}:${password}@127.0.0.1:${port}`
}

/**
 * Returns whether JetStream is ready. nats-server reports this in the INFO line that begins each connection.
 */
export function natsReady(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 1000 })
    socket.once('data', (greeting) => {
      socket.destroy()
      resolve(greeting.includes('"jetstream":true'))
    })
    socket.once('timeout', () => socket.destroy(new Error('no greeting within 1 s')))
    socket.once('error', reject)
    socket.once('close', () => resolve(false))
  })
}

// Keeps JetStream's default fsync interval of two minutes. Messages survive a crash of the process. If a
// crash of the machine loses messages, they are published again from the outbox, which PostgreSQL keeps until
// webhook-service confirms the events. (`sync_interval: always` would cost an fsync for each message, and
// nats-server 2.9 rejects the setting.)
function renderConfiguration({
  port,
  passwordHash,
  tls,
  cluster,
  store,
}: Pick<NatsOptions, 'port' | 'tls' | 'cluster'> & { passwordHash: string; store: string }): string {
  return [
    `listen: "127.0.0.1:${port}"`,
    `authorization { user: ${USER}, password: "${passwordHash}" }`,
    'max_payload: 8MB',
    ...(tls
      ? [`tls { cert_file: ${JSON.stringify(tls.certFile)}, key_file: ${JSON.stringify(tls.keyFile)} }`]
      : []),
    ...(cluster ? renderCluster(cluster) : []),
    `jetstream { store_dir: ${JSON.stringify(store)} }`,
    '',
  ].join('\n')
}

function renderCluster({ name, port, routes, monitorPort }: NatsCluster): string[] {
  const others = routes.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')
  return [
    `server_name: ${name}`,
    `http: "127.0.0.1:${monitorPort}"`,
    `cluster { name: leadwire, listen: "127.0.0.1:${port}", routes: [${others}] }`,
  ]
}
