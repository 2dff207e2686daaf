import { eventually } from '@leadwire/test-kit'
import { findProgram } from '../chart/find-program.fixture'
import { buildOptions, CHART, type Manifest } from '../chart/render.fixture'
import { type Cluster, isKubernetesInstalled, startCluster } from './cluster.fixture'
import { helmIn, makeNamespace } from './namespace.fixture'

const found = findProgram('helm')
const binary = 'binary' in found ? found.binary : ''
const suite = binary && isKubernetesInstalled() ? describe : describe.skip
if (suite === describe.skip)
  console.warn('SKIPPED: the replacement of pods. Run tools/e2e/install-kubernetes.sh.')

const SERVICES = ['files-service', 'gateway', 'leads-service', 'webhook-service']
const OPTIONS = [...buildOptions('small'), '--set', 'topologySpread.whenUnsatisfiable=DoNotSchedule']

suite('pods of the chart', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
    await makeNamespace(cluster, 'leads')
  })
  afterAll(() => cluster?.stop())

  const kubectl = (args: string[], input?: string) => cluster.kubectl(['--namespace=leads', ...args], input)
  const helm = (...args: string[]) => helmIn(binary, cluster, 'leads', ['--timeout=100s', ...args, '--wait'])
  const get = async (...args: string[]): Promise<Manifest[]> =>
    JSON.parse(await kubectl(['get', ...args, '--output=json'])).items
  const getPods = (service: string) => get('pods', `--selector=app.kubernetes.io/component=${service}`)
  const evict = ({ metadata: { name } }: Manifest) => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
    const path = `/api/v1/namespaces/leads/pods/${name}/eviction`
    return kubectl(['create', `--raw=${path}`, '--filename=-'], JSON.stringify(eviction))
  }
  const allAreReady = async () => {
    const deployments = await get('deployments', '--selector=app.kubernetes.io/component!=cli')
    expect(deployments.map(({ status }) => status.availableReplicas)).toEqual([2, 2, 2, 2])
  }
  /** Runs `work`. Returns the smallest number of available pods that any service had during this time. */
  const leastDuring = async (work: () => Promise<unknown>): Promise<number> => {
    const seen: number[] = []
    const print = '--output=jsonpath={.status.availableReplicas}{"\\n"}'
    const select = '--selector=app.kubernetes.io/component!=cli'
    const stop = await cluster.watch(['--namespace=leads', 'get', 'deployments', select, print], (line) =>
      seen.push(Number(line)),
    )
    try {
      await work()
    } finally {
      await stop()
    }
    expect(seen.length).toBeGreaterThan(4)
    return Math.min(...seen)
  }

  test('are available at the end of an installation, after the Jobs of migrations', async () => {
    expect(await helm('install', 'leadwire', CHART, ...OPTIONS)).toBe('')
    await allAreReady()
    const completed = await get('events', '--field-selector=reason=Completed')
    expect(completed.map(({ involvedObject }) => involvedObject.name).sort()).toEqual([
      'leadwire-migrations-leads',
      'leadwire-migrations-webhooks',
    ])
    expect(await get('jobs')).toEqual([])
  })

  test.each(SERVICES)('%s has a copy in each zone, and its Service has both addresses', async (service) => {
    const pods = await getPods(service)
    expect(pods.map(({ spec }) => spec.nodeName[0]).sort()).toEqual(['a', 'b'])
    const [slice] = await get('endpointslices', `--selector=kubernetes.io/service-name=leadwire-${service}`)
    const ready = slice.endpoints.filter(({ conditions }: Manifest) => conditions.ready)
    expect(ready.flatMap(({ addresses }: Manifest) => addresses).sort()).toEqual(
      pods.map(({ status }) => status.podIP).sort(),
    )
    const headless = slice.metadata.labels['service.kubernetes.io/headless'] === ''
    expect(headless).toBe(service !== 'gateway')
  })

  test('the second copy is not evicted until the first one is replaced', async () => {
    await kubectl(['cordon', 'a1', 'a2', 'b1', 'b2'])
    const [first, second] = await getPods('gateway')
    await evict(first)
    await eventually(() => expect(evict(second)).rejects.toThrow(/disruption budget/))
    await kubectl(['uncordon', 'a1', 'a2', 'b1', 'b2'])
    await eventually(allAreReady)
  })

  test('while a zone is drained, each service keeps a copy', async () => {
    const zone = '--selector=topology.kubernetes.io/zone=a'
    const drain = ['drain', zone, '--delete-emptydir-data', '--timeout=60s']
    try {
      expect(await leastDuring(() => kubectl(drain))).toBeGreaterThan(0)
      await eventually(allAreReady, { timeoutMs: 60_000 })
    } finally {
      await kubectl(['uncordon', zone])
    }
  })

  test('an upgrade replaces all pods, and each service keeps its number of available copies', async () => {
    const before = await get('pods')
    const upgrade = () => helm('upgrade', 'leadwire', CHART, ...OPTIONS, '--set', 'settings.LOG_LEVEL=debug')
    expect(await leastDuring(upgrade)).toBe(2)
    const names = before.map(({ metadata }) => metadata.name)
    const old = (await get('pods')).filter(({ metadata }) => names.includes(metadata.name))
    expect(old.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])).toEqual(['cli'])
  })

  test('an upgrade to pods that never run times out without an outage, and a rollback succeeds', async () => {
    const stuck = [...OPTIONS, '--set', 'gateway.nodeSelector.disk=none', '--timeout=15s']
    const least = await leastDuring(async () => {
      await expect(helm('upgrade', 'leadwire', CHART, ...stuck)).rejects.toThrow(/gateway/)
      await helm('rollback', 'leadwire')
    })
    expect(least).toBe(2)
    await allAreReady()
  })
})
