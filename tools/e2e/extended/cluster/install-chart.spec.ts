import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { stringify } from 'yaml'
import { findProgram } from '../chart/find-program.fixture'
import { buildOptions, CHART, HELM, listPods, type Manifest, render, SIZES } from '../chart/render.fixture'
import { type Cluster, isKubernetesInstalled, startCluster } from './cluster.fixture'
import { helmIn, makeNamespace } from './namespace.fixture'

const found = findProgram('helm')
const binary = 'binary' in found ? found.binary : ''
const suite = binary && isKubernetesInstalled() ? describe : describe.skip
if (suite === describe.skip)
  console.warn('SKIPPED: the installation of the chart. Run tools/e2e/install-kubernetes.sh.')

const KINDS = [
  'configmaps',
  'deployments',
  'horizontalpodautoscalers',
  'httproutes',
  'ingresses',
  'jobs',
  'networkpolicies',
  'poddisruptionbudgets',
  'scaledobjects',
  'secrets',
  'serviceaccounts',
  'servicemonitors',
  'services',
].join()

/** Picks the fields that only an upgrade changes. Omits the status, which controllers change at any time. */
const pickDesired = ({ kind, metadata: { name, uid, generation }, data }: Manifest) => ({
  kind,
  name,
  uid,
  generation,
  data,
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
    helm(size, 'upgrade', 'leadwire', CHART, ...buildOptions(size), ...options)
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

  test.each(SIZES)('%s installs without warnings where the restricted profile is enforced', async (size) => {
    expect(await helm(size, 'install', 'leadwire', CHART, ...buildOptions(size))).toBe('')
    expect((await all(size)).filter(({ kind }) => kind === 'Job')).toEqual([])
  })

  test.each(SIZES)('the pods of %s are admitted, and get no token for the cluster', async (size) => {
    // The ServiceAccounts of the migrations are deleted by now, so all pods use the ServiceAccount `default`.
    const pods = listPods(render(binary, buildOptions(size))).map(({ name, metadata, spec }) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, name, namespace: size },
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

  // Checks only the schema, because the operator does not run in this cluster.
  test.each([
    'small',
    'medium',
  ])('the PostgreSQL of %s conforms to the schema of CloudNativePG', async (size) => {
    const apply = ['apply', '--filename', join(HELM, `stores/postgresql-${size}.yaml`)]
    expect(await kubectl(size, apply)).toBe('cluster.postgresql.cnpg.io/leadwire-postgresql created\n')
  })

  test('a failed migration stops the upgrade before anything is replaced', async () => {
    const before = (await all('small')).filter(({ kind }) => kind !== 'Secret').map(pickDesired)
    const faulty = upgrade('small', '--set', 'image.tag=faulty,settings.LOG_LEVEL=debug,migrations.seconds=5')
    await expect(faulty).rejects.toThrow(/pre-upgrade hooks failed/)
    const after = (await all('small')).filter(({ kind }) => kind !== 'Secret')
    expect(after.filter(({ kind }) => kind !== 'Job').map(pickDesired)).toEqual(before)
    // The pod of the migration stays, so that its log can be read.
    const pods = ['get', 'pods', '--selector=job-name=leadwire-migrations-leads', '--output=name']
    expect(await kubectl('small', pods)).toMatch(/^pod/)
  })

  test('an upgrade after a manual restart applies new values, and a rollback restores the old ones', async () => {
    await kubectl('small', ['rollout', 'restart', 'deployment', '--selector=app.kubernetes.io/name=leadwire'])
    expect(await upgrade('small', '--set', 'settings.LOG_LEVEL=debug,leads.replicas=3')).toBe('')
    expect([await logLevel(), await copies()]).toEqual(['debug', '3'])
    expect(await helm('small', 'rollback', 'leadwire', '1')).toBe('')
    expect([await logLevel(), await copies()]).toEqual(['info', '2'])
  })

  test('a number of copies that was set manually stops an upgrade unless it is forced', async () => {
    await kubectl('small', ['scale', 'deployment/leadwire-leads-service', '--replicas=5'])
    await expect(upgrade('small')).rejects.toThrow(/conflict with "kubectl".*\.spec\.replicas/)
    await upgrade('small', '--force-conflicts')
    expect(await copies()).toBe('2')
  })

  test('enabling autoscaling keeps a number of copies that was set manually', async () => {
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

  // Does not test scaling beyond the minimum, because nothing measures CPU in this cluster.
  test('a scaler finds its Deployment, and raises the one initial copy to the minimum', async () => {
    const scaler = 'horizontalpodautoscaler/leadwire-gateway'
    await kubectl('medium', ['wait', scaler, '--for=condition=AbleToScale', '--timeout=60s'])
    await eventually(async () =>
      expect(await read('medium', 'deployment/leadwire-gateway', '.status.replicas')).toBe('3'),
    )
    expect(await read('medium', scaler, '.status.conditions[?(@.type=="ScalingActive")].reason')).toBe(
      'FailedGetResourceMetric',
    )
  })

  test.each(SIZES)('uninstalling %s leaves only the Secrets that existed before', async (size) => {
    await helm(size, 'uninstall', 'leadwire')
    const left = (await all(size)).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(left).toEqual([
      ...['nats', 'postgresql-leads', 'postgresql-webhooks', 'seaweedfs', 'secrets'].map(
        (one) => `Secret leadwire-${one}`,
      ),
      'ServiceAccount default',
    ])
  })
})
