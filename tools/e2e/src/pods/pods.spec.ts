import { createDatabase, eventually, type Receiver, startMinio, startNats } from '@leadwire/test-kit'
import { findProgram } from '../chart/find-program.fixture'
import { CHART, HELM, type Manifest, ROOT } from '../chart/render.fixture'
import { type Cluster, run, startCluster } from '../cluster/cluster.fixture'
import { helmIn, makeNamespace } from '../cluster/namespace.fixture'
import { type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'
import { type MixedLoad, startMixedLoad } from '../upgrade/mixed-load.fixture'
import { FOLDER, LOOPBACK, RECEIVER, startNodes } from './nodes.fixture'

const found = findProgram('helm')
const binary = 'binary' in found ? found.binary : ''
const suite = FOLDER ? describe : describe.skip

const NODE_PORT = 30080
const BASE = `http://127.0.0.1:${NODE_PORT}`
const SERVICES = ['gateway', 'leads', 'files', 'webhooks']
const SLOW_MS = 900_000

suite('the chart in pods', () => {
  const stops: (() => Promise<unknown>)[] = []
  let cluster: Cluster
  let options: string[]
  let stage: Stage
  let tenant: Tenant
  let receiver: Receiver
  let load: MixedLoad

  beforeAll(async () => {
    cluster = await startCluster({ kwok: false })
    stops.push(cluster.stop)
    await startNodes(cluster)
    await makeNamespace(cluster, 'leads')
    options = await startStores()
    await kubectl(['create', 'service', 'nodeport', 'door', '--tcp=80:3000', `--node-port=${NODE_PORT}`])
    await kubectl(['set', 'selector', 'service/door', 'app.kubernetes.io/component=gateway'])
  }, SLOW_MS)
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop()
  })

  const kubectl = (args: string[]) => cluster.kubectl(['--namespace=leads', ...args])
  const helm = (...args: string[]) => helmIn(binary, cluster, 'leads', [...args, '--wait', '--timeout=8m'])
  const upgrade = (...args: string[]) => helm('upgrade', 'leadwire', CHART, ...options, ...args)
  const get = async (...args: string[]): Promise<Manifest[]> =>
    JSON.parse(await kubectl(['get', ...args, '--output=json'])).items

  /** PostgreSQL, NATS and MinIO on loopback. Answers with the values of the chart. */
  const startStores = async (): Promise<string[]> => {
    const [nats, minio] = await Promise.all([startNats(), startMinio()])
    stops.push(nats.stop)
    if ('reason' in minio) throw new Error(minio.reason)
    stops.push(minio.stop)
    const { endpoint, accessKey, secretKey } = minio.store
    const [leads, webhooks] = [await createDatabase(), await createDatabase()]
    const inPods = (url: string) => url.replace('127.0.0.1', LOOPBACK)
    const values = {
      'image.repository': 'leadwire',
      'image.tag': 'latest',
      publicUrl: BASE,
      // Its rules take no address for a host.
      'ingress.enabled': 'false',
      'topologySpread.whenUnsatisfiable': 'DoNotSchedule',
      'files.settings.S3_ENDPOINT': inPods(endpoint),
      'webhooks.settings.SMTP_FROM': 'leads@example.com',
      'webhooks.settings.WEBHOOK_ALLOW_HOSTS': RECEIVER,
      'secrets.natsUrl.value': inPods(nats.url),
      'secrets.leadsDatabaseUrl.value': inPods(leads.url),
      'secrets.webhooksDatabaseUrl.value': inPods(webhooks.url),
      'secrets.s3AccessKey.value': accessKey,
      'secrets.s3SecretKey.value': secretKey,
      // All of them and the copies of a rollout on two cores.
      ...Object.fromEntries(SERVICES.map((name) => [`${name}.resources.requests.cpu`, '50m'])),
    }
    return [
      ...['-f', `${HELM}/leadwire/values-small.yaml`],
      ...Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
    ]
  }

  /** What specs know a running system by. */
  const address = () => ({
    LEADWIRE_E2E_URL: BASE,
    LEADWIRE_E2E_RECEIVER_HOST: RECEIVER,
    LEADWIRE_E2E_CLI: `kubectl --kubeconfig ${cluster.kubeconfig} --namespace leads exec deploy/leadwire-cli -- node tools/leadwire/dist/main.js`,
  })
  const allAreReady = async () => {
    const deployments = await get('deployments', '--selector=app.kubernetes.io/component!=cli')
    expect(deployments.map(({ status }) => status.availableReplicas)).toEqual([2, 2, 2, 2])
  }
  const told = () =>
    receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)
  /** Every lead was told of, once. */
  const allAreTold = () =>
    eventually(() => expect(told().sort()).toEqual([...load.accepted].sort()), { timeoutMs: 60_000 })

  test(
    'migrations run, and all pods are ready by their own probes',
    async () => {
      expect(await helm('install', 'leadwire', CHART, ...options)).toBe('')
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
    'end-to-end specs pass at the address of the gateway',
    async () => {
      // Those of deploy/smoke.sh but for `changes`, which wants a mail server.
      const names = ['walk', 'client', 'examples', 'management', 'paging', 'tenancy']
      const specs = names.map((name) => `tools/e2e/src/conformance/${name}.spec.ts`)
      const env = Object.entries(address()).map(([name, value]) => `${name}=${value}`)
      await run('env', [...env, 'npm', '--prefix', ROOT, 'run', '--silent', 'specs', '--', ...specs])
    },
    SLOW_MS,
  )

  test(
    'an upgrade replaces all pods under load, and no request fails',
    async () => {
      Object.assign(process.env, address())
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
    'a node is drained under load, and no request fails',
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
    'a rollback replaces them again, and every lead was told of once',
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
