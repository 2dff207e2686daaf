import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { stringify } from 'yaml'
import { findProgram } from '../chart/find-program.fixture'
import { CHART, HELM, type Manifest, optionsOf, podsOf, render, SIZES } from '../chart/render.fixture'
import { type Cluster, kubernetesIsThere, startCluster } from './cluster.fixture'
import { helmIn, makeNamespace } from './namespace.fixture'

const found = findProgram('helm')
const binary = 'binary' in found ? found.binary : ''
const suite = binary && kubernetesIsThere() ? describe : describe.skip
if (suite === describe.skip) console.warn('The chart was not installed: run tools/e2e/install-kubernetes.sh.')

const KINDS = [
  ...['configmaps', 'deployments', 'horizontalpodautoscalers', 'httproutes', 'ingresses', 'jobs'],
  ...['networkpolicies', 'poddisruptionbudgets', 'scaledobjects', 'secrets', 'serviceaccounts'],
  ...['servicemonitors', 'services'],
].join()

/** Without its status, which controllers change when they like. */
const whatIsWanted = ({ kind, metadata: { name, uid, generation }, data }: Manifest) => ({
  ...{ kind, name, uid, generation, data },
})

suite('the chart on a cluster', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
    for (const size of SIZES) await makeNamespace(cluster, size)
  })
  afterAll(() => cluster?.stop())

  const kubectl = (size: string, args: string[], input?: string) =>
    cluster.kubectl(['--namespace', size, ...args], input)
  const helm = (size: string, ...args: string[]) =>
    helmIn(binary, cluster, size, [...args, '--wait=hookOnly'])
  const upgrade = (size: string, ...options: string[]) =>
    helm(size, 'upgrade', 'leadwire', CHART, ...optionsOf(size), ...options)
  const all = async (size: string): Promise<Manifest[]> =>
    JSON.parse(
      await kubectl(size, [
        'get',
        KINDS,
        '--field-selector=metadata.name!=kube-root-ca.crt',
        '--output=json',
      ]),
    ).items
  const read = (size: string, object: string, path: string) =>
    kubectl(size, ['get', object, `--output=jsonpath={${path}}`])
  const logLevel = () => read('small', 'configmap/leadwire-gateway', '.data.LOG_LEVEL')
  const copies = () => read('small', 'deployment/leadwire-leads-service', '.spec.replicas')

  test.each(
    SIZES,
  )('%s is installed where the restricted profile is enforced, and nothing is warned of', async (size) => {
    expect(await helm(size, 'install', 'leadwire', CHART, ...optionsOf(size))).toBe('')
    expect((await all(size)).filter(({ kind }) => kind === 'Job')).toEqual([])
  })

  test.each(SIZES)('the pods of %s are admitted, without a token of the cluster', async (size) => {
    // The accounts of migrations are gone.
    const pods = podsOf(render(binary, optionsOf(size))).map(({ name, metadata, spec }) =>
      stringify({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, namespace: size } },
        spec: { ...spec, serviceAccountName: 'default' },
      }),
    )
    const print = '--output=jsonpath={.metadata.name}: {.spec.volumes[*].name}{"\\n"}'
    const args = ['create', '--dry-run=server', print, '--filename=-']
    const admitted = await kubectl(size, args, pods.join('---\n'))
    expect(admitted.trim().split('\n')).toHaveLength(8)
    expect(admitted).not.toContain('kube-api-access')
    const open = pods.join('---\n').replaceAll('runAsNonRoot: true', 'runAsNonRoot: false')
    await expect(kubectl(size, args, open)).rejects.toThrow(/violates PodSecurity "restricted:latest"/)
  })

  // What its operator would make of it, nobody says here.
  test.each([
    'small',
    'medium',
  ])('CloudNativePG’s definition knows all of the PostgreSQL of %s', async (size) => {
    const apply = ['apply', '--filename', join(HELM, `stores/postgresql-${size}.yaml`)]
    expect(await kubectl(size, apply)).toBe('cluster.postgresql.cnpg.io/leadwire-postgresql created\n')
  })

  test('values that nobody reads are refused', async () => {
    await expect(upgrade('small', '--set', 'gateway.replica=3')).rejects.toThrow(/'replica' not allowed/)
  })

  test('a migration that fails stops the upgrade before anything is replaced', async () => {
    const before = (await all('small')).filter(({ kind }) => kind !== 'Secret').map(whatIsWanted)
    const faulty = upgrade('small', '--set', 'image.tag=faulty,settings.LOG_LEVEL=debug,migrations.seconds=5')
    await expect(faulty).rejects.toThrow(/pre-upgrade hooks failed/)
    const after = (await all('small')).filter(({ kind }) => kind !== 'Secret')
    expect(after.filter(({ kind }) => kind !== 'Job').map(whatIsWanted)).toEqual(before)
    // Its log says why.
    const pods = ['get', 'pods', '--selector=job-name=leadwire-migrations-leads', '--output=name']
    expect(await kubectl('small', pods)).toMatch(/^pod/)
  })

  test('an upgrade after a restart by hand takes new values, and a rollback brings the old ones back', async () => {
    await kubectl('small', ['rollout', 'restart', 'deployment', '--selector=app.kubernetes.io/name=leadwire'])
    expect(await upgrade('small', '--set', 'settings.LOG_LEVEL=debug,leads.replicas=3')).toBe('')
    expect([await logLevel(), await copies()]).toEqual(['debug', '3'])
    expect(await helm('small', 'rollback', 'leadwire', '1')).toBe('')
    expect([await logLevel(), await copies()]).toEqual(['info', '2'])
  })

  test('a number of copies that was set by hand stops an upgrade that is not forced', async () => {
    await kubectl('small', ['scale', 'deployment/leadwire-leads-service', '--replicas=5'])
    await expect(upgrade('small')).rejects.toThrow(/conflict with "kubectl".*\.spec\.replicas/)
    await upgrade('small', '--force-conflicts')
    expect(await copies()).toBe('2')
  })

  test('copies stay when they were set by hand before autoscaling is turned on', async () => {
    await kubectl('small', ['scale', 'deployment/leadwire-leads-service', '--replicas=3'])
    await upgrade('small', '--set', 'leads.autoscaling.enabled=true,gateway.autoscaling.enabled=true')
    expect(await copies()).toBe('3')
    await eventually(async () =>
      expect(await read('small', 'deployment/leadwire-gateway', '.spec.replicas')).toBe('2'),
    )
    await expect(upgrade('small')).rejects.toThrow(/conflict with "kubectl".*\.spec\.replicas/)
    await upgrade('small', '--force-conflicts')
    expect(await copies()).toBe('2')
  })

  // By more it can't scale here, as nothing measures CPU.
  test('a scaler finds its Deployment, and makes the least number of copies of the one that Kubernetes begins with', async () => {
    const scaler = 'horizontalpodautoscaler/leadwire-gateway'
    await kubectl('medium', ['wait', scaler, '--for=condition=AbleToScale', '--timeout=60s'])
    await eventually(async () =>
      expect(await read('medium', 'deployment/leadwire-gateway', '.status.replicas')).toBe('3'),
    )
    expect(await read('medium', scaler, '.status.conditions[?(@.type=="ScalingActive")].reason')).toBe(
      'FailedGetResourceMetric',
    )
  })

  test.each(SIZES)('%s goes, and leaves the Secrets that were there before', async (size) => {
    await helm(size, 'uninstall', 'leadwire')
    const left = (await all(size)).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(left).toEqual([
      ...['minio', 'nats', 'postgresql-leads', 'postgresql-webhooks', 'secrets'].map(
        (one) => `Secret leadwire-${one}`,
      ),
      'ServiceAccount default',
    ])
  })
})
