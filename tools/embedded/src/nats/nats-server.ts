import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { hash } from 'bcryptjs'
import { type Child, startChild, whenReady } from '../process/child'
import type { CertificateFiles } from '../tls/tls-files'

export type NatsOptions = {
  binary: string
  /** Its configuration and JetStream's store. */
  directory: string
  port: number
  /** Of the one user there is, `leadwire`; it goes into a URL as it is. */
  password: string
  /** With it clients must speak TLS. */
  tls?: CertificateFiles | undefined
  cluster?: NatsCluster | undefined
  /** A lock over the data, which lasts as long as the server too. */
  lock?: { fd: number } | undefined
  onLine?: (line: string) => void
}

/** A server's place in a cluster. Streams of a cluster may have several replicas. */
export type NatsCluster = {
  name: string
  /** Where the other servers reach this one. */
  port: number
  /** The same of all servers. */
  routes: number[]
  /** Where it tells about itself over HTTP. */
  monitorPort: number
}

const USER = 'leadwire'

/** The least that bcrypt takes: the password is random, and nats-server would spend a higher cost on each connection. */
const HASH_COST = 4

/** Starts nats-server; answers when it has a pid, before it takes connections (see natsReady). */
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
  const settings = configuration({ port, passwordHash, tls, cluster, store: join(directory, 'jetstream') })
  await writeFile(config, settings, { mode: 0o600 })
  // One of Go's threads at a time: with more each message wakes several that look for work and find none, which cost a
  // lone create a quarter of nats-server's time and its neighbours the core. It is busy for a seventh of one at most.
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

/** Starts it and waits until it serves JetStream. */
export async function startNatsServer(options: NatsOptions): Promise<NatsServer> {
  const child = await spawnNats(options)
  try {
    await whenReady(child, () => natsReady(options.port), { timeoutMs: 20_000 })
  } catch (error) {
    await child.stop()
    throw error
  }
  return { ...child, url: natsUrl(options) }
}

export function natsUrl({ port, password, tls }: Pick<NatsOptions, 'port' | 'password' | 'tls'>): string {
  return `${tls ? 'tls' : 'nats'}://${USER}:${password}@127.0.0.1:${port}`
}

/** A server greets with an INFO line that says whether JetStream is on. */
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

// JetStream's own fsync interval (two minutes) is left as it is: messages survive the death of the process, and what
// the machine's death takes is published again from the outbox, which PostgreSQL keeps until webhook-service confirms.
// (`sync_interval: always` would cost an fsync a message, and 2.9 refuses the setting.)
function configuration({
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
    ...(cluster ? clusterConfiguration(cluster) : []),
    `jetstream { store_dir: ${JSON.stringify(store)} }`,
    '',
  ].join('\n')
}

function clusterConfiguration({ name, port, routes, monitorPort }: NatsCluster): string[] {
  const others = routes.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')
  return [
    `server_name: ${name}`,
    `http: "127.0.0.1:${monitorPort}"`,
    `cluster { name: leadwire, listen: "127.0.0.1:${port}", routes: [${others}] }`,
  ]
}
