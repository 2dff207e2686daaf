import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { createAuthority } from '@leadwire/embedded'
import {
  createDatabase,
  eventually,
  type ReceivedRequest,
  type Receiver,
  startMinio,
  startNats,
  startReceiver,
} from '@leadwire/test-kit'
import { Client } from 'pg'
import { createClient } from '../../support/client'
import { type Lead, tenant as makeTenant, type Stage, startStage, type Tenant } from '../../support/stage'
import { findProgram } from '../chart/find-program.fixture'
import { fillIn, inReadme } from '../chart/readme.fixture'
import { CHART, type Manifest, ROOT } from '../chart/render.fixture'
import { type Cluster, run, startCluster } from '../cluster/cluster.fixture'
import { helmIn } from '../cluster/namespace.fixture'
import { type MixedLoad, startMixedLoad } from '../upgrade/mixed-load.fixture'
import { FOLDER, LOOPBACK, OUTSIDE, RECEIVER, startNodes } from './nodes.fixture'
import { makeReader } from './reader.fixture'

const found = findProgram('helm')
const binary = 'binary' in found ? found.binary : ''
const suite = FOLDER ? describe : describe.skip

const NODE_PORT = 30080
const BASE = `http://localhost:${NODE_PORT}`
const SLOW_MS = 900_000
const parsePort = (url: string) => Number(new URL(url).port)
const TLS = process.env['LEADWIRE_TEST_TLS'] === '1'

const OWN_STORES = 'With PostgreSQL, NATS and S3 that you have'
/** The options that this cluster needs in addition to the README's command. */
const MORE = [
  '-f',
  join(__dirname, 'values.yaml'),
  ...(TLS ? ['--set', 'tls.secret=certificates,tls.serverName=localhost'] : []),
]
const OPTIONS = ['-f', `${CHART}/values-small.yaml`, '-f', join(FOLDER, 'reader/my-values.yaml'), ...MORE]

/** Prints the names of the addresses that accept a connection. Dropped connections time out. */
const REACH = `
  const reach = ([name, host, port]) => new Promise((done) => {
    const socket = require('node:net').connect({ host, port, timeout: 5000 })
    const end = (reached) => { socket.destroy(); done(reached ? [name] : []) }
    socket.on('connect', () => end(true)).on('timeout', () => end(false)).on('error', () => end(false))
  })
  Promise.all(JSON.parse(process.argv[1]).map(reach)).then((all) => console.log(JSON.stringify(all.flat())))`

suite('the chart in pods', () => {
  const stops: (() => Promise<unknown>)[] = []
  let cluster: Cluster
  let own: Record<string, string>
  let database: string
  let stores: Record<string, number>
  let stage: Stage
  let tenant: Tenant
  let receiver: Receiver
  let load: MixedLoad

  beforeAll(async () => {
    cluster = await startCluster({ kwok: false })
    stops.push(cluster.stop)
    await startNodes(cluster)
    own = await startStores()
    Object.assign(process.env, address())
  }, SLOW_MS)
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop()
  })

  const kubectl = (args: string[]) => cluster.kubectl(['--namespace=leadwire', ...args])
  const helm = (...args: string[]) => helmIn(binary, cluster, 'leadwire', [...args, '--wait', '--timeout=8m'])
  const upgrade = (...args: string[]) => helm('upgrade', 'leadwire', CHART, ...OPTIONS, ...args)
  const get = async (...args: string[]): Promise<Manifest[]> =>
    JSON.parse(await kubectl(['get', ...args, '--output=json'])).items

  /** Starts PostgreSQL, NATS and MinIO on loopback. Returns the values that replace the README's examples. */
  const startStores = async (): Promise<Record<string, string>> => {
    const [nats, minio] = await Promise.all([startNats(), startMinio()])
    stops.push(nats.stop)
    if ('reason' in minio) throw new Error(minio.reason)
    stops.push(minio.stop)
    database = (await createDatabase()).url
    const { endpoint, accessKey, secretKey } = minio.store
    const { password } = new URL(nats.url)
    stores = { postgresql: parsePort(database), nats: parsePort(nats.url), s3: parsePort(endpoint) }
    return {
      "'PASSWORD'": `'${password}'`,
      ':PASSWORD@': `:${password}@`,
      '=KEY': `=${accessKey}`,
      '=SECRET': `=${secretKey}`,
      'db.example.internal:5432': `${LOOPBACK}:${stores['postgresql']}`,
      'nats.example.internal:4222': `${LOOPBACK}:${stores['nats']}`,
      'https://s3.eu-west-2.amazonaws.com': `http://${LOOPBACK}:${stores['s3']}`,
      '10.20.0.0/24': `${LOOPBACK}/32`,
      '10.20.1.0/24': `${LOOPBACK}/32`,
      '10.20.2.0/24': `${LOOPBACK}/32`,
      '[5432]': `[${stores['postgresql']}]`,
      '[4222]': `[${stores['nats']}]`,
      '[443]': `[${stores['s3']}]`,
    }
  }

  /** Runs the README's statements as a superuser of PostgreSQL. */
  const makeDatabases = async (statements: string) => {
    const admin = new Client({ connectionString: database })
    await admin.connect()
    for (const statement of statements.trim().split('\n')) await admin.query(statement)
    await admin.end()
  }

  /** Exposes the gateway on a port, because no controller serves the README's Ingress here. */
  const makeDoor = async () => {
    await kubectl(['create', 'service', 'nodeport', 'door', '--tcp=80:3000', `--node-port=${NODE_PORT}`])
    await kubectl(['set', 'selector', 'service/door', 'app.kubernetes.io/component=gateway'])
  }

  /** Creates the Secret with the certificates that the services use for each other. */
  const makeCertificates = async () => {
    const authority = await createAuthority()
    const { cert, key } = await authority.issue('leadwire')
    const stringData = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'certificates' }, stringData }
    await cluster.kubectl(['--namespace=leadwire', 'create', '--filename=-'], JSON.stringify(secret))
  }

  /** Returns the settings with which specs find a running system. */
  const address = () => ({
    LEADWIRE_E2E_URL: BASE,
    LEADWIRE_E2E_RECEIVER_HOST: RECEIVER,
    LEADWIRE_E2E_CLI: `kubectl --kubeconfig ${cluster.kubeconfig} --namespace leadwire exec deploy/leadwire-cli -- node tools/leadwire/dist/main.js`,
  })
  const allAreReady = async () => {
    const deployments = await get('deployments', '--selector=app.kubernetes.io/component!=cli')
    expect(deployments.map(({ status }) => status.availableReplicas)).toEqual([2, 2, 2, 2])
  }
  const told = () =>
    receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)
  /** Waits until the webhook of every lead has arrived once. */
  const allAreTold = () =>
    eventually(() => expect(told().sort()).toEqual([...load.accepted].sort()), { timeoutMs: 60_000 })

  test('the commands of the README lead to a lead and its signed webhook within ten minutes', async () => {
    const reader = await makeReader(cluster, join(FOLDER, 'reader'))
    await reader.type(inReadme('Install', 'bash'))
    await makeDoor()
    if (TLS) await makeCertificates()
    await makeDatabases(fillIn(inReadme(OWN_STORES, 'sql'), own))
    await reader.type(fillIn(inReadme(OWN_STORES, 'bash'), own))
    await reader.write(
      'my-values.yaml',
      fillIn(inReadme('Leadwire', 'yaml') + inReadme(OWN_STORES, 'yaml'), own),
    )
    const file = '-f my-values.yaml'
    const lines = await reader.type(
      fillIn(inReadme('Leadwire', 'bash'), { [file]: [file, ...MORE].join(' ') }),
    )
    const { token, ...account } = JSON.parse(lines.at(-1)!)
    const client = createClient(BASE, { token })
    stops.push(() => client.close())
    const first = makeTenant({ account, token, client, onReceiver: ({ stop }) => stops.push(stop) })
    const { receiver, secret } = await first.listen()
    const { reference } = await first.createLead()
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    const [{ headers, body }] = receiver.requests as [ReceivedRequest]
    expect(headers['x-service-signature']).toBe(createHmac('sha1', secret).update(body).digest('hex'))
    expect(JSON.parse(body.toString()).data.reference).toBe(reference)
  }, 600_000)

  test(
    'the migrations have run, and the probes of all pods succeed',
    async () => {
      await allAreReady()
      const completed = await get('events', '--field-selector=reason=Completed')
      expect(completed.map(({ involvedObject }) => involvedObject.name).sort()).toEqual([
        'leadwire-migrations-leads',
        'leadwire-migrations-webhooks',
      ])
      for (const pod of await get('pods', '--selector=app.kubernetes.io/component!=cli'))
        expect(pod.status.containerStatuses[0]).toMatchObject({ ready: true, restartCount: 0 })
    },
    SLOW_MS,
  )

  test(
    'helm test succeeds',
    () => helmIn(binary, cluster, 'leadwire', ['test', 'leadwire', '--logs', '--timeout=2m']),
    SLOW_MS,
  )

  test(
    'network policies allow only the necessary connections; only webhook-service reaches the internet',
    async () => {
      const outside = await startReceiver({ host: OUTSIDE })
      stops.push(outside.stop)
      const names = ['gateway', 'leads-service', 'files-service', 'webhook-service']
      const targets = [
        ...names.slice(1).map((name) => [name, `leadwire-${name}`, 4000]),
        ...Object.entries(stores).map(([name, port]) => [name, LOOPBACK, port]),
        ['internet', OUTSIDE, parsePort(outside.url)],
      ]
      const reached = async (name: string) => {
        // Leaves out the pod itself, because a pod can always reach itself.
        const others = JSON.stringify(targets.filter(([target]) => target !== name))
        const script = ['exec', `deploy/leadwire-${name}`, '--', 'node', '-e', REACH, others]
        return [name, JSON.parse(await kubectl(script))]
      }
      expect(Object.fromEntries(await Promise.all([...names, 'cli'].map(reached)))).toEqual({
        gateway: ['leads-service', 'files-service', 'webhook-service'],
        'leads-service': ['files-service', 'webhook-service', 'postgresql', 'nats'],
        'files-service': ['s3'],
        'webhook-service': ['postgresql', 'nats', 'internet'],
        cli: ['leads-service', 'webhook-service'],
      })
    },
    SLOW_MS,
  )

  test(
    'end-to-end specs pass at the address of the gateway',
    async () => {
      // Runs the specs of deploy/smoke.sh, except those that need a mail server.
      const scenarios = ['leads', 'access'].map((name) => `tools/e2e/scenarios/${name}.spec.ts`)
      const conformance = ['changes', 'client', 'examples', 'management', 'paging'].map(
        (name) => `tools/e2e/extended/conformance/${name}.spec.ts`,
      )
      const specs = [...scenarios, ...conformance]
      const env = Object.entries(address()).map(([name, value]) => `${name}=${value}`)
      await run('env', [...env, 'npm', '--prefix', ROOT, 'run', '--silent', 'specs', '--', ...specs])
    },
    SLOW_MS,
  )

  test(
    'an upgrade replaces all pods under load, and no request fails',
    async () => {
      stage = await startStage()
      stops.push(stage.stop)
      tenant = await stage.newTenant()
      receiver = (await tenant.listen()).receiver
      load = startMixedLoad({ bases: [BASE], token: tenant.token })
      stops.push(load.stop)
      await load.moves(20)
      const names = (await get('pods')).map(({ metadata }) => metadata.name)
      await upgrade('--set', 'settings.LOG_LEVEL=debug')
      await load.moves(20)
      const left = (await get('pods')).filter(({ metadata }) => names.includes(metadata.name))
      expect(left.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])).toEqual(['cli'])
      expect(load.failures).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'while a node is drained under load, no request fails',
    async () => {
      await kubectl(['drain', 'node-2', '--delete-emptydir-data', '--timeout=300s'])
      await eventually(allAreReady, { timeoutMs: 120_000 })
      await load.moves(20)
      await kubectl(['uncordon', 'node-2'])
      expect(load.failures).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'a rollback replaces the pods again, and every webhook has arrived once',
    async () => {
      await helm('rollback', 'leadwire')
      await load.moves(20)
      await load.stop()
      expect(load.failures).toEqual([])
      await allAreTold()
      await allAreReady()
    },
    SLOW_MS,
  )
})
