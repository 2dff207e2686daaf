import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '@leadwire/test-kit'
import { stringify } from 'yaml'
import { joinStage, type SharedStage } from '../../support/stage'
import { findProgram } from './find-program.fixture'
import {
  buildOptions,
  CHART,
  listPods,
  type Manifest,
  ROOT,
  readComplaint,
  readYaml,
  render,
  runHelm,
  schemaErrors,
} from './render.fixture'

const found = findProgram('helm')
const helm = 'binary' in found ? found.binary : ''
const validator = findProgram('kubeconform')
const suite = helm ? describe : describe.skip

const folder = mkdtempSync(join(tmpdir(), 'leadwire-extras-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns helm's options for a small release with additional values. */
const withValues = (values: object): string[] => {
  const file = join(folder, 'values.yaml')
  writeFileSync(file, stringify(values))
  return [...buildOptions('small'), '-f', file]
}
const renderWith = (values: object) => render(helm, withValues(values))
const named = (manifests: Manifest[], kind: string, name: string): Manifest =>
  manifests.find((one) => one.kind === kind && one.metadata.name === `leadwire-${name}`)

/**
 * Returns a value for each key of `pods`. The values contain `mark`, so that pods can have different values.
 */
const extras = (mark: string) => ({
  extraEnv: [{ name: 'EXTRA', value: mark }],
  extraEnvFrom: [{ secretRef: { name: mark } }],
  extraVolumes: [{ name: mark, secret: { secretName: mark } }],
  extraVolumeMounts: [{ name: mark, mountPath: `/${mark}` }],
  extraContainers: [{ name: mark, image: mark }],
  initContainers: [{ name: `init-${mark}`, image: mark, restartPolicy: 'Always' }],
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: mark }] } },
  nodeSelector: { disk: mark },
  tolerations: [{ key: mark, operator: 'Exists' }],
  topologySpreadConstraints: [
    { maxSkew: 2, topologyKey: mark, whenUnsatisfiable: 'DoNotSchedule' },
    {
      maxSkew: 3,
      topologyKey: mark,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { mark } },
    },
  ],
  podLabels: { team: mark },
  podAnnotations: { note: mark },
  deploymentAnnotations: { 'secret.reloader.stakater.com/auto': 'true', note: mark },
  priorityClassName: mark,
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': mark } },
  automountServiceAccountToken: true,
})
type Extras = Partial<ReturnType<typeof extras>>

/** Reads a pod's extras from the fields in which Kubernetes looks for them. */
const readExtras = ({ metadata, spec }: Manifest): Extras => {
  const [own, ...others] = spec.containers
  return {
    extraEnv: own.env.filter(({ name }: Manifest) => name === 'EXTRA'),
    extraEnvFrom: own.envFrom.filter(({ secretRef }: Manifest) => secretRef),
    extraVolumes: spec.volumes.filter(({ secret }: Manifest) => secret),
    extraVolumeMounts: own.volumeMounts.filter(({ mountPath }: Manifest) => mountPath !== '/tmp'),
    extraContainers: others,
    initContainers: spec.initContainers,
    affinity: spec.affinity,
    nodeSelector: spec.nodeSelector,
    tolerations: spec.tolerations,
    podLabels: { team: metadata.labels.team },
    podAnnotations: { note: metadata.annotations.note },
    priorityClassName: spec.priorityClassName,
    automountServiceAccountToken: spec.automountServiceAccountToken,
  }
}

/** Returns the extras that a pod should have. */
const expectedIn = (name: string, mark: string): Extras => {
  const { topologySpreadConstraints, deploymentAnnotations, serviceAccount, ...all } = extras(mark)
  return /test|migrations/.test(name) ? { ...all, extraContainers: [] } : all
}

const SERVICES = [
  ['gateway', 'gateway', []],
  ['leads', 'leads-service', ['migrations-leads']],
  ['files', 'files-service', []],
  ['webhooks', 'webhook-service', ['migrations-webhooks']],
] as const

suite('values that add to pods', () => {
  test.each(SERVICES)('%s changes the pods of %s and its migrations, and no others', (key, name, jobs) => {
    const manifests = renderWith({ [key]: extras('one') })
    const { metadata, spec } = named(manifests, 'Deployment', name)
    const pods = listPods(manifests)
    for (const pod of pods.filter((one) => [name, ...jobs].includes(one.name.replace('leadwire-', ''))))
      expect([pod.name, readExtras(pod)]).toEqual([pod.name, expectedIn(pod.name, 'one')])
    expect(pods.filter((pod) => JSON.stringify(pod).includes('"one"'))).toHaveLength(1 + jobs.length)
    expect(metadata.annotations).toEqual(extras('one').deploymentAnnotations)
    const labelSelector = { matchLabels: spec.selector.matchLabels }
    expect(spec.template.spec.topologySpreadConstraints).toEqual(
      extras('one').topologySpreadConstraints.map((one) => ({ labelSelector, ...one })),
    )
    for (const account of [name, ...jobs]) {
      const { metadata, automountServiceAccountToken } = named(manifests, 'ServiceAccount', account)
      expect(metadata.annotations).toMatchObject(extras('one').serviceAccount.annotations)
      expect(automountServiceAccountToken).toBe(false)
      const { spec } = pods.find((pod) => pod.name === `leadwire-${account}`)
      expect(spec.serviceAccountName).toBe(metadata.name)
    }
  })

  test('pods changes all pods, unless a service has its own value', () => {
    const manifests = renderWith({ pods: extras('all'), files: extras('one') })
    for (const pod of listPods(manifests)) {
      const mark = pod.name === 'leadwire-files-service' ? 'one' : 'all'
      expect([pod.name, readExtras(pod)]).toEqual([pod.name, expectedIn(pod.name, mark)])
    }
    const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount')
    expect(accounts).toHaveLength(6)
    for (const { metadata } of accounts)
      expect(metadata.annotations).toMatchObject({
        'eks.amazonaws.com/role-arn': metadata.name === 'leadwire-files-service' ? 'one' : 'all',
      })
  })

  const conform = 'binary' in validator ? test : test.skip
  conform('pods conforms to the schemas of Kubernetes', () => {
    const { binary } = validator as { binary: string }
    expect(schemaErrors(binary, renderWith({ pods: extras('all') }))).toEqual([])
  })

  test('an existing ServiceAccount is used, and none is created', () => {
    const manifests = renderWith({ leads: { serviceAccount: { create: false, name: 'mine' } } })
    for (const name of ['leads-service', 'migrations-leads']) {
      const { spec } = listPods(manifests).find((pod) => pod.name === `leadwire-${name}`)
      expect([spec.serviceAccountName, named(manifests, 'ServiceAccount', name)]).toEqual(['mine', undefined])
    }
  })

  test.each([
    [{ gateway: { extraEnv: [{ name: 'A', value: 3 }] } }, '/gateway/extraEnv/0/value'],
    [{ pods: { extraVolume: [] } }, "'extraVolume' not allowed"],
    [{ webhooks: { initContainers: [{ image: 'one' }] } }, "/webhooks/initContainers/0': missing property"],
    [{ files: { serviceAccount: { annotation: {} } } }, "'annotation' not allowed"],
    [{ leads: { podLabels: { team: 7 } } }, '/leads/podLabels/team'],
  ])('%j is refused', (values, complaint) => {
    expect(readComplaint(helm, ['template', CHART, ...withValues(values)])).toContain(complaint)
  })
})

suite('secrets', () => {
  const readEnv = (manifests: Manifest[], name: string) =>
    listPods(manifests)
      .find((pod) => pod.name === `leadwire-${name}`)
      .spec.containers[0].env.map((one: Manifest) => [one.name, one.value ?? one.valueFrom.secretKeyRef.name])

  test('a setting or its file in extraEnv replaces the Secret', () => {
    const extraEnv = [
      { name: 'DATABASE_URL', value: 'postgresql://leads@db/leads' },
      { name: 'NATS_URL_FILE', value: '/vault/secrets/nats' },
      { name: 'LOG_LEVEL', value: 'debug' },
      { name: 'IDEMPOTENCY_RETENTION_FILE', value: '/vault/secrets/retention' },
    ]
    const manifests = renderWith({ leads: { extraEnv } })
    expect(named(manifests, 'ConfigMap', 'leads-service').data).not.toHaveProperty('IDEMPOTENCY_RETENTION')
    const secrets = [
      ['ENCRYPTION_KEYS', 'leadwire-secrets'],
      ['SERVICE_TOKEN', 'leadwire-secrets'],
    ]
    const given = extraEnv.map(({ name, value }) => [name, value])
    expect(readEnv(manifests, 'leads-service')).toEqual([...secrets, ...given])
    const ofJob = readEnv(manifests, 'migrations-leads')
    expect(ofJob.slice(-6)).toEqual([...secrets, ...given])
    expect(new Set(ofJob.map(([name]: string[]) => name)).size).toBe(ofJob.length)
  })

  test('without secrets for S3 the pods get no keys, and the proxy comes from its Secret', () => {
    const empty = { secret: '' }
    const secrets = { s3AccessKey: empty, s3SecretKey: empty, webhookProxy: { secret: 'proxy' } }
    const manifests = renderWith({ secrets })
    expect(readEnv(manifests, 'files-service')).toEqual([['SERVICE_TOKEN', 'leadwire-secrets']])
    expect(readEnv(manifests, 'webhook-service')).toContainEqual(['WEBHOOK_PROXY', 'proxy'])
  })

  test('with an identity provider the gateway gets its settings, its secret, and access to the provider', () => {
    const settings = { OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'leadwire' }
    const roles = { OIDC_CREATE_USERS: '1', OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'a=admin,b=sales' }
    const secrets = { oidcClientSecret: { secret: 'oidc' } }
    const manifests = renderWith({ secrets, gateway: { settings: { ...settings, ...roles } } })
    expect(named(manifests, 'ConfigMap', 'gateway').data).toMatchObject({ ...settings, ...roles })
    expect(readEnv(manifests, 'gateway')).toContainEqual(['OIDC_CLIENT_SECRET', 'oidc'])
    const listPorts = (from: Manifest[]) =>
      named(from, 'NetworkPolicy', 'gateway').spec.egress.map(({ ports }: Manifest) => ports[0].port)
    expect(listPorts(manifests)).toEqual([...listPorts(renderWith({})), 443])
  })

  test('a missing secret is an error that names it', () => {
    const secrets = { natsUrl: { secret: '' } }
    const complaint = readComplaint(helm, ['template', CHART, ...withValues({ secrets })])
    expect(complaint).toContain(
      'secrets.natsUrl is needed: a secret or a value, or NATS_URL or NATS_URL_FILE in extraEnv of leads-service',
    )
    const extraEnvFrom = [{ secretRef: { name: 'mine' } }]
    expect(readEnv(renderWith({ secrets, pods: { extraEnvFrom } }), 'leads-service')).not.toContainEqual([
      'NATS_URL',
      expect.anything(),
    ])
  })

  test('a changed value of a secret replaces the pods', () => {
    const sumsWith = (value: string) =>
      listPods(renderWith({ secrets: { serviceToken: { value } } }))
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ metadata }) => metadata.annotations['checksum/settings'])
    const before = sumsWith('a-token-for-this-spec')
    expect(before).toHaveLength(5)
    expect(sumsWith('a-token-for-this-spec')).toEqual(before)
    const after = sumsWith('another-token-for-this-spec')
    expect(after.filter((sum) => before.includes(sum))).toEqual([])
  })
})

test('a published chart names its images, and contains its README and the values of each size', () => {
  if (!helm) return
  const { run } = readYaml(join(ROOT, '.github/workflows/release.yml')).jobs.chart.steps.find(
    ({ id }: Manifest) => id === 'push',
  )
  const [script] = run.split('digest=')
  const copy = join(folder, 'deploy/helm/leadwire')
  cpSync(CHART, copy, { recursive: true })
  const env = {
    PATH: [dirname(helm), process.env['PATH']].join(delimiter),
    GITHUB_REPOSITORY: 'Owner/Repository',
  }
  execFileSync('bash', ['-e', '-c', script], { cwd: folder, env, stdio: 'pipe' })
  const { version } = readYaml(join(CHART, 'Chart.yaml'))
  const packed = join(folder, `leadwire-${version}.tgz`)
  const options = buildOptions('small', 'image.repository')
  const images = runHelm(helm, ['template', packed, ...options]).matchAll(/image: (.*)/g)
  expect(new Set([...images].map(([, image]) => image))).toEqual(
    new Set(
      ['gateway', 'leads-service', 'files-service', 'webhook-service', 'leadwire'].map(
        (name) => `ghcr.io/owner/repository/${name}:${version}`,
      ),
    ),
  )
  const files = execFileSync('tar', ['--list', '--file', packed], { encoding: 'utf8' })
  expect(files.split('\n')).toEqual(
    expect.arrayContaining(['leadwire/README.md', 'leadwire/values-large.yaml']),
  )
})

suite('helm test', () => {
  let stage: SharedStage
  beforeAll(async () => {
    stage = await joinStage()
  })
  afterAll(() => stage?.stop())

  const { metadata, spec } = helm ? named(renderWith({}), 'Pod', 'test') : { metadata: {}, spec: {} }
  /** Runs the pod's command with the addresses of the stage instead of the addresses of the Service. */
  const run = async (addresses: Record<string, string>) => {
    const [{ args, env }] = spec.containers
    const given = Object.fromEntries(env.map((one: Manifest) => [one.name, addresses[one.value]]))
    const running = promisify(execFile)(process.execPath, args.slice(1), { env: given })
    return running.catch((error: { code: number; stdout: string }) => error) as Promise<Manifest>
  }
  const addresses = () => {
    const { health } = stage.system.services.find(({ name }) => name === 'gateway')!
    return { 'http://leadwire-gateway': stage.system.baseUrl, 'http://leadwire-gateway:9000': health }
  }

  test('is a pod with the gateway’s image that only `helm test` runs', () => {
    expect(metadata.annotations['helm.sh/hook']).toBe('test')
    expect(spec.containers[0]).toMatchObject({
      image: expect.stringMatching(/^registry\.example\/leadwire\/gateway:/),
      args: ['node', '-e', expect.any(String)],
    })
  })

  test('passes if the gateway responds', async () => {
    // Retries, because on a busy machine the check of a dependency may take longer than its limit.
    await eventually(async () => {
      const { code, stdout } = await run(addresses())
      expect([code, stdout.match(/^ok: .*$/gm)?.length, stdout.match(/FAILED/)]).toEqual([undefined, 3, null])
    })
  })

  test('fails with the address that responds wrongly', async () => {
    const { health } = stage.system.services.find(({ name }) => name === 'leads-service')!
    const { code, stdout } = await run({ ...addresses(), 'http://leadwire-gateway': health })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^FAILED: .*\/leads responds 404, expected 401$/m)
  })
})
