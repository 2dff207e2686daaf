import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'

export const ROOT = resolve(__dirname, '../../../..')
export const HELM = join(ROOT, 'deploy/helm')
export const CHART = join(HELM, 'leadwire')

export const SIZES = ['small', 'medium', 'large'] as const

/** Values for the settings that have no default. Enables both Ingress and HTTPRoute. */
const NEEDED = [
  'image.repository=registry.example/leadwire',
  'publicUrl=https://leads.example.com',
  'webhooks.settings.SMTP_FROM=leads@example.com',
  'httpRoute.enabled=true',
  'httpRoute.parentRefs[0].name=public',
]

/** A manifest without types. The schemas of Kubernetes check its structure. */
// biome-ignore lint/suspicious/noExplicitAny: manifests have no types here
export type Manifest = any

/**
 * Returns helm's options for a size, with all required values. Leaves out the values whose names start with
 * `without`. No name starts with the default `-`.
 */
export const buildOptions = (size: string, without = '-'): string[] => [
  '-f',
  join(CHART, `values-${size}.yaml`),
  ...NEEDED.filter((value) => !value.startsWith(without)).flatMap((value) => ['--set', value]),
]

/** Runs helm and returns its output. If helm fails, throws an error with helm's message. */
export const runHelm = (helm: string, args: string[]): string =>
  execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 16 * 2 ** 20 })

/** Runs helm and returns its error message, or an empty text if it succeeds. */
export const readComplaint = (helm: string, args: string[]): string => {
  try {
    runHelm(helm, args)
    return ''
  } catch (error) {
    return String((error as { stderr: unknown }).stderr)
  }
}

/** Renders the manifests of a release. */
export const render = (helm: string, options: string[], name = 'leadwire'): Manifest[] =>
  parseAllDocuments(runHelm(helm, ['template', name, CHART, '--namespace', 'leads', ...options]))
    .map((document) => document.toJS())
    .filter(Boolean)

/** Returns the errors that kubeconform finds in manifests, including unknown fields. */
export const schemaErrors = (kubeconform: string, manifests: Manifest[]): unknown[] => {
  const schemas = join(HELM, 'schemas/{{.ResourceKind}}.json')
  const { stdout } = spawnSync(kubeconform, ['-strict', '-output', 'json', '-schema-location', schemas], {
    input: manifests.map((one) => stringify(one)).join('---\n'),
    encoding: 'utf8',
  })
  return JSON.parse(stdout).resources ?? []
}

export const readYaml = (path: string): Manifest => parse(readFileSync(path, 'utf8'))

export const isHook = ({ metadata }: Manifest): boolean =>
  metadata.annotations?.['helm.sh/hook'] !== undefined

/** Returns whether the labels contain all labels of a selector. */
export const matches = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

/** Lists the pods of Deployments and Jobs and of `helm test`, each with the name of its owner. */
export const listPods = (manifests: Manifest[]): Manifest[] =>
  manifests
    .filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind))
    .map(({ kind, metadata, spec }) => ({
      kind,
      name: metadata.name,
      ...(spec.template ?? { metadata, spec }),
    }))

/** Lists the violations of the `restricted` profile of Pod Security in a pod. */
export const listViolations = ({ spec }: Manifest): string[] => {
  const { securityContext: pod } = spec
  const checks: [string, boolean][] = [
    ['runs as root', pod.runAsNonRoot === true && pod.runAsUser > 0],
    ['has no seccomp profile', pod.seccompProfile?.type === 'RuntimeDefault'],
    ['uses namespaces of the host', !spec.hostNetwork && !spec.hostPID && !spec.hostIPC],
    ['mounts the host', (spec.volumes ?? []).every((volume: Manifest) => !volume.hostPath)],
    ['has a token for the cluster', spec.automountServiceAccountToken === false],
    ...spec.containers.flatMap(({ securityContext }: Manifest): [string, boolean][] => [
      ['may escalate privileges', securityContext.allowPrivilegeEscalation === false],
      ['has capabilities', securityContext.capabilities.drop.includes('ALL')],
      ['writes to its root', securityContext.readOnlyRootFilesystem === true],
    ]),
  ]
  return checks.filter(([, isRight]) => !isRight).map(([name]) => name)
}
