import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { joinStage, type SharedStage } from '../../support/stage'
import { findProgram } from './find-program.fixture'
import {
  buildOptions,
  CHART,
  isHook,
  listPods,
  listViolations,
  type Manifest,
  matches,
  ROOT,
  readComplaint,
  readYaml,
  render,
  SIZES,
  schemaErrors,
} from './render.fixture'

const found = findProgram('helm')
const validator = findProgram('kubeconform')
const helm = 'binary' in found ? found.binary : ''
if ('reason' in found) console.warn(`SKIPPED: the specs of the chart. ${found.reason}.`)

const SERVICES = {
  gateway: { name: 'gateway', reader: 'readGatewayConfig' },
  leads: { name: 'leads-service', reader: 'readLeadsConfig' },
  files: { name: 'files-service', reader: 'readFilesConfig' },
  webhooks: { name: 'webhook-service', reader: 'readWebhookConfig' },
}

/** Valid values for the settings in Secrets. */
const SECRETS: Record<string, string> = {
  SERVICE_TOKEN: 'a-token-for-this-spec',
  ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
  NATS_URL: 'nats://leadwire:password@nats:4222',
  DATABASE_URL: 'postgresql://leads:password@postgres:5432/leads',
  S3_ACCESS_KEY: 'key',
  S3_SECRET_KEY: 'secret',
  SMTP_URL: 'smtp://mail:25',
  WEBHOOK_PROXY: 'http://user:password@proxy:3128',
}

/** The secrets of the chart without which a service starts. They need other settings. */
const OPTIONAL_SECRETS = ['OIDC_CLIENT_SECRET']

/**
 * Secrets that few installations need. An installation sets them with extraEnv, because values.yaml has no
 * key for them.
 */
const BY_EXTRA_ENV = ['DATABASE_PASSWORD', 'NATS_CREDENTIALS', 'NATS_NKEY', 'OTEL_EXPORTER_OTLP_HEADERS']

const of = (manifests: Manifest[], kind: string): Manifest[] => manifests.filter((one) => one.kind === kind)
const named = (manifests: Manifest[], kind: string, name: string): Manifest =>
  of(manifests, kind).find(({ metadata }) => metadata.name === name)

const suite = 'binary' in found ? describe : describe.skip

suite.each(SIZES)('the chart with values-%s.yaml', (size) => {
  let manifests: Manifest[]
  beforeAll(() => {
    manifests = render(helm, buildOptions(size))
  })

  test('passes helm lint', () => {
    expect(readComplaint(helm, ['lint', '--strict', CHART, ...buildOptions(size)])).toBe('')
  })

  const conform = 'binary' in validator ? test : test.skip
  conform('conforms to the schemas of Kubernetes, without unknown fields', () => {
    const { binary } = validator as { binary: string }
    expect(schemaErrors(binary, manifests)).toEqual([])
    // Tries a release name and a host that the chart must convert. YAML would read the unquoted name 2026 as
    // a number, and Kubernetes requires hosts in lower case.
    const others = render(
      helm,
      [...buildOptions(size), '--set', 'publicUrl=https://Leads.Example.com'],
      '2026',
    )
    expect(schemaErrors(binary, others)).toEqual([])
    expect(of(others, 'Ingress')[0].spec.rules[0].host).toBe('leads.example.com')
  })

  test.each(
    Object.values(SERVICES),
  )('$name gets the required settings and no settings that it does not read', ({ name, reader }) => {
    const { data } = named(manifests, 'ConfigMap', `leadwire-${name}`)
    const [{ env }] = named(manifests, 'Deployment', `leadwire-${name}`).spec.template.spec.containers
    const secrets = env.map((one: Manifest) => [one.name, SECRETS[one.name]])
    const given = { ...data, ...Object.fromEntries(secrets) }
    const config = require(join(ROOT, 'apps', name, 'src/config'))[reader](given)
    expect(Object.keys(given).filter((setting) => !(setting in config))).toEqual([])
  })

  test('each pod conforms to the restricted profile', () => {
    const pods = listPods(manifests)
    expect(pods).toHaveLength(8)
    expect(pods.map((pod) => [pod.name, listViolations(pod)])).toEqual(pods.map(({ name }) => [name, []]))
  })

  test('each pod has a network policy, and only webhook-service may connect outside the cluster', () => {
    const policies = of(manifests, 'NetworkPolicy')
    const expected = readYaml(join(CHART, `values-${size}.yaml`)).networkPolicy
    // The addresses of managed stores are in the private network, so they do not count as outside the
    // cluster.
    const stores = [expected.postgresql, expected.s3].flatMap(({ to }) =>
      to.map(({ ipBlock }: Manifest) => ipBlock?.cidr),
    )
    for (const pod of listPods(manifests)) {
      const own = policies.filter(({ spec }) => matches(spec.podSelector.matchLabels, pod.metadata.labels))
      expect(own.map(({ spec }) => spec.policyTypes)).toEqual([['Ingress', 'Egress']])
      const peers = own[0].spec.egress.flatMap(
        ({ to }: Manifest) => to ?? [{ ipBlock: { cidr: 'anywhere' } }],
      )
      const blocks = peers.flatMap(({ ipBlock }: Manifest) => ipBlock?.cidr ?? [])
      const outside = blocks.filter((cidr: string) => !stores.includes(cidr))
      expect([pod.name, outside]).toEqual([
        pod.name,
        pod.name === 'leadwire-webhook-service' ? ['0.0.0.0/0', '::/0'] : [],
      ])
    }
  })

  test('network policies let each pod reach the services whose addresses it has', () => {
    const callers = of(manifests, 'Deployment').flatMap(({ metadata, spec }) => {
      const config = named(manifests, 'ConfigMap', metadata.name)?.data ?? {}
      const own = Object.fromEntries(
        spec.template.spec.containers[0].env.map((one: Manifest) => [one.name, one.value]),
      )
      const urls = Object.entries({ ...config, ...own }).filter(([name]) => name.endsWith('_SERVICE_URL'))
      return urls.map(([, url]) => ({
        caller: spec.template.metadata.labels,
        name: metadata.name,
        url: String(url),
      }))
    })
    expect(callers).toHaveLength(7)
    for (const { caller, name, url } of callers) {
      const [, host, port] = /^(?:dns:\/\/\/|http:\/\/)([^:]+):(\d+)$/.exec(url)!
      const { spec: service } = named(manifests, 'Service', host!)
      expect(service).toMatchObject({
        clusterIP: 'None',
        ports: expect.arrayContaining([expect.objectContaining({ port: Number(port) })]),
      })
      const { labels } = named(manifests, 'Deployment', host!).spec.template.metadata
      const rules = (
        policy: string,
        direction: 'egress' | 'ingress',
        peer: 'to' | 'from',
        labels: Record<string, string>,
      ) =>
        named(manifests, 'NetworkPolicy', policy).spec[direction].filter(
          (rule: Manifest) =>
            rule.ports.some((one: Manifest) => one.port === Number(port)) &&
            rule[peer]?.some(
              ({ podSelector }: Manifest) => podSelector && matches(podSelector.matchLabels, labels),
            ),
        )
      expect([url, rules(name, 'egress', 'to', labels).length]).toEqual([url, 1])
      expect([url, rules(host!, 'ingress', 'from', caller).length]).toEqual([url, 1])
    }
  })

  test('network policies let each pod reach the stores that it uses', () => {
    const { postgresql, nats, s3 } = readYaml(join(CHART, `values-${size}.yaml`)).networkPolicy
    const stores = {
      'files-service': [s3.to],
      'leads-service': [postgresql.to, nats.to],
      'webhook-service': [postgresql.to, nats.to],
      migrations: [postgresql.to],
    }
    for (const [name, targets] of Object.entries(stores)) {
      const { egress } = named(manifests, 'NetworkPolicy', `leadwire-${name}`).spec
      expect(egress.map(({ to }: Manifest) => to)).toEqual(expect.arrayContaining(targets))
    }
  })

  test('each service has a disruption budget, a spread, and the ports of its pods', () => {
    for (const { name } of Object.values(SERVICES)) {
      const { spec } = named(manifests, 'Deployment', `leadwire-${name}`)
      const selector = spec.selector.matchLabels
      expect(matches(selector, spec.template.metadata.labels)).toBe(true)
      expect(named(manifests, 'PodDisruptionBudget', `leadwire-${name}`).spec).toMatchObject({
        maxUnavailable: 1,
        selector: { matchLabels: selector },
      })
      const spread = spec.template.spec.topologySpreadConstraints
      expect(spread.map((one: Manifest) => [one.topologyKey, one.labelSelector.matchLabels])).toEqual([
        ['topology.kubernetes.io/zone', selector],
        ['kubernetes.io/hostname', selector],
      ])
      const service = named(manifests, 'Service', `leadwire-${name}`).spec
      const ports = spec.template.spec.containers[0].ports.map((port: Manifest) => port.name)
      expect(service.selector).toEqual(selector)
      expect(ports).toEqual(service.ports.map((port: Manifest) => port.targetPort))
    }
  })

  test('a Deployment has either one scaler or a number of copies', () => {
    const scalers = manifests.filter(({ kind }) => /^(HorizontalPodAutoscaler|ScaledObject)$/.test(kind))
    const scaled = scalers.map(({ spec }) => spec.scaleTargetRef.name).sort()
    const free = of(manifests, 'Deployment').filter(({ spec }) => spec.replicas === undefined)
    expect(scaled).toEqual(free.map(({ metadata }) => metadata.name).sort())
    expect(scalers.map(({ kind }) => kind).includes('ScaledObject')).toBe(size === 'large')
    expect(scaled).toHaveLength(size === 'small' ? 0 : 4)
  })

  test('hooks migrate the databases first, in pods that need no other object of the release', () => {
    const jobs = of(manifests, 'Job')
    expect(jobs.map(({ metadata }) => metadata.annotations['helm.sh/hook'])).toEqual(
      Array(2).fill('pre-install,pre-upgrade'),
    )
    const later = manifests.filter((one) => !isHook(one)).map(({ metadata }) => metadata.name)
    for (const { spec } of jobs) {
      const [{ name, args, env, envFrom }] = spec.template.spec.containers
      const secrets = env.flatMap(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef.name ?? [])
      expect(envFrom).toBeUndefined()
      expect(later).not.toContain(spec.template.spec.serviceAccountName)
      expect(secrets.filter((secret: string) => later.includes(secret))).toEqual([])
      expect(args).toEqual(['node', `apps/${name}/dist/main.js`, '--migrate'])
      const { data } = named(manifests, 'ConfigMap', `leadwire-${name}`)
      expect(Object.fromEntries(env.map((one: Manifest) => [one.name, one.value]))).toMatchObject(data)
      expect(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')).toContain(`CMD ["node", "${args[1]}"]`)
    }
  })

  test('Ingress and HTTPRoute route to the gateway', () => {
    const { spec: gateway } = named(manifests, 'Service', 'leadwire-gateway')
    const [{ host, http }] = of(manifests, 'Ingress')[0].spec.rules
    const { service } = http.paths[0].backend
    const [route] = of(manifests, 'HTTPRoute')
    expect([host, ...route.spec.hostnames]).toEqual(['leads.example.com', 'leads.example.com'])
    expect([service.name, service.port.name]).toEqual(['leadwire-gateway', 'http'])
    expect(route.spec.rules[0].backendRefs).toEqual([
      { name: 'leadwire-gateway', port: gateway.ports[0].port },
    ])
  })
})

suite('the chart', () => {
  test('has the version of the release', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(readYaml(join(CHART, 'Chart.yaml'))).toMatchObject({ version, appVersion: version })
  })

  test.each([
    ['gateway.replica=3', "'replica' not allowed"],
    ['gateway.settings.RATE_LIMITS=600/1m', "'RATE_LIMITS' not allowed"],
    ['networkPolicy.nats.port=4222', "'port' not allowed"],
    ['files.keda.enabled=true', "'keda' not allowed"],
    ['nats.enabled=true', "'nats' not allowed"],
    ['gateway.settings.IMPORT_MAX_BYTES=536870912', 'got number, want string'],
    ['publicUrl=leads.example.com', 'does not match pattern'],
    ['publicUrl=https://user:password@leads.example.com', 'does not match pattern'],
  ])('refuses --set %s', (value, complaint) => {
    expect(readComplaint(helm, ['template', CHART, ...buildOptions('small'), '--set', value])).toContain(
      complaint,
    )
  })

  test.each([
    'image.repository',
    'publicUrl',
    'files.settings.S3_ENDPOINT',
    'webhooks.settings.SMTP_FROM',
    'httpRoute.parentRefs',
  ])('says that %s is needed if it is missing', (name) => {
    const options = [
      ...buildOptions('small', name),
      ...(name.startsWith('files') ? ['--set', `${name}=`] : []),
    ]
    expect(readComplaint(helm, ['template', CHART, ...options])).toContain(`${name} is needed`)
  })

  test('offers every setting of the services', () => {
    const { properties } = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'))
    const manifests = render(helm, buildOptions('small'))
    const withTls = render(helm, [...buildOptions('small'), '--set', 'tls.secret=certificates'])
    for (const [key, { name, reader }] of Object.entries(SERVICES)) {
      const { data } = named(manifests, 'ConfigMap', `leadwire-${name}`)
      const { data: more } = named(withTls, 'ConfigMap', `leadwire-${name}`)
      const offered = { ...more, ...SECRETS, ...properties[key].properties.settings.properties }
      const config = require(join(ROOT, 'apps', name, 'src/config'))[reader]({ ...data, ...SECRETS })
      const missing = Object.keys(config).filter((setting) => !(setting in offered))
      const others = missing.filter((setting) => ![...BY_EXTRA_ENV, ...OPTIONAL_SECRETS].includes(setting))
      // The chart does not offer SERVICE_AUTH, because calls between services are always authenticated. It
      // does not offer READY_MARKER, because only `npm start` sets it.
      const wanted = name === 'gateway' ? ['READY_MARKER', 'SERVICE_AUTH'] : ['SERVICE_AUTH']
      expect([name, others]).toEqual([name, wanted])
    }
  })

  test('a value takes precedence over the existing Secret, and the migrations get a copy of the value', () => {
    const manifests = render(helm, [
      ...buildOptions('small'),
      '--set',
      'secrets.leadsDatabaseUrl.value=postgresql://db/leads',
    ])
    const secrets = of(manifests, 'Secret').map(({ metadata, stringData }) => [metadata.name, stringData])
    const given = { leadsDatabaseUrl: 'postgresql://db/leads' }
    expect(secrets).toEqual(
      expect.arrayContaining([
        ['leadwire-given', given],
        ['leadwire-migrations', given],
      ]),
    )
    const readSecretRef = (pod: Manifest) =>
      pod.spec.template.spec.containers[0].env.find((one: Manifest) => one.name === 'DATABASE_URL').valueFrom
        .secretKeyRef
    expect(readSecretRef(named(manifests, 'Deployment', 'leadwire-leads-service'))).toEqual({
      name: 'leadwire-given',
      key: 'leadsDatabaseUrl',
    })
    expect(readSecretRef(named(manifests, 'Job', 'leadwire-migrations-leads'))).toEqual({
      name: 'leadwire-migrations',
      key: 'leadsDatabaseUrl',
    })
    expect(readSecretRef(named(manifests, 'Deployment', 'leadwire-webhook-service'))).toEqual({
      name: 'leadwire-secrets',
      key: 'WEBHOOKS_DATABASE_URL',
    })
  })

  test('with TLS each pod mounts the certificates that its settings name', () => {
    const manifests = render(helm, [
      ...buildOptions('small'),
      '--set',
      'tls.secret=certificates,tls.authorities=more',
    ])
    const secrets = ({ volumes }: Manifest) =>
      volumes.flatMap(({ secret }: Manifest) => secret?.secretName ?? [])
    const pods = listPods(manifests)
    expect(pods.map(({ spec }) => secrets(spec).sort())).toEqual(pods.map(() => ['certificates', 'more']))
    const { data } = named(manifests, 'ConfigMap', 'leadwire-gateway')
    const [{ volumeMounts }] = named(manifests, 'Deployment', 'leadwire-gateway').spec.template.spec
      .containers
    expect(data).toMatchObject({
      TLS_CA_FILE: '/etc/leadwire/tls/ca.crt',
      FILES_SERVICE_URL: expect.stringMatching(/^https:/),
    })
    expect(volumeMounts).toContainEqual({ name: 'tls', mountPath: '/etc/leadwire/tls' })
  })

  test('pods are replaced when a setting changes', () => {
    const renderChecksum = (...options: string[]) =>
      named(render(helm, [...buildOptions('small'), ...options]), 'Deployment', 'leadwire-gateway').spec
        .template.metadata.annotations['checksum/settings']
    expect(renderChecksum('--set', 'settings.LOG_LEVEL=debug')).not.toBe(renderChecksum())
  })
})

suite('the chart beside running services', () => {
  let stage: SharedStage
  beforeAll(async () => {
    stage = await joinStage()
  })
  afterAll(() => stage?.stop())

  const large = () => render(helm, buildOptions('large'))

  test('probes and ServiceMonitors request existing paths', async () => {
    const manifests = large()
    for (const { name } of Object.values(SERVICES)) {
      const plan = stage.system.services.find((one) => one.name === name)!
      const doors: Record<string, string | null> = { health: plan.health, http: plan.base ?? plan.http }
      const [container] = named(manifests, 'Deployment', `leadwire-${name}`).spec.template.spec.containers
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        ({ httpGet }) => httpGet,
      )
      const monitor = named(manifests, 'ServiceMonitor', `leadwire-${name}`).spec
      const monitored = named(manifests, 'Service', `leadwire-${name}`)
      expect(matches(monitor.selector.matchLabels, monitored.metadata.labels)).toBe(true)
      expect(monitored.spec.ports.map((port: Manifest) => port.name)).toContain(monitor.endpoints[0].port)
      for (const { path, port } of [...probes, monitor.endpoints[0]]) {
        // Retries, because on a busy machine the check of a dependency may take longer than its limit.
        await eventually(async () => {
          const { status } = await fetch(`${doors[port]}${path}`)
          expect([name, port, path, status]).toEqual([name, port, path, 200])
        })
      }
    }
  })

  test('KEDA scales by a metric that webhook-service exposes', async () => {
    const [{ metadata }] = of(large(), 'ScaledObject')[0].spec.triggers
    const [, metric] = /^max\((\w+)\{namespace="leads"\}\)$/.exec(metadata.query)!
    const { health } = stage.system.services.find(({ name }) => name === 'webhook-service')!
    expect(await (await fetch(`${health}/metrics`)).text()).toMatch(new RegExp(`^${metric}\\{.*\\} \\d`, 'm'))
  })
})
