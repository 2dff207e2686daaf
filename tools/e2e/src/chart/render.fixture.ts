import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'

export const ROOT = resolve(__dirname, '../../../..')
export const HELM = join(ROOT, 'deploy/helm')
export const CHART = join(HELM, 'leadwire')

export const SIZES = ['small', 'medium', 'large'] as const

/** What has no default, and both doors open. */
const NEEDED = [
  'image.repository=registry.example/leadwire',
  'publicUrl=https://leads.example.com',
  'webhooks.settings.SMTP_FROM=leads@example.com',
  'httpRoute.enabled=true',
  'httpRoute.parentRefs[0].name=public',
]

/** What the specs look at in a manifest; the schemas of Kubernetes check the rest. */
// biome-ignore lint/suspicious/noExplicitAny: manifests have no types here
export type Manifest = any

/** A size with what it needs, but for the value `without`. */
export const optionsOf = (size: string, without = '-'): string[] => [
  ...['-f', join(CHART, `values-${size}.yaml`)],
  ...NEEDED.filter((value) => !value.startsWith(without)).flatMap((value) => ['--set', value]),
]

/** What helm prints; throws with its complaint. */
export const runHelm = (helm: string, args: string[]): string =>
  execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 16 * 2 ** 20 })

/** What helm complains of; empty when nothing. */
export const complaintOf = (helm: string, args: string[]): string => {
  try {
    runHelm(helm, args)
    return ''
  } catch (error) {
    return String((error as { stderr: unknown }).stderr)
  }
}

/** The manifests of a release. */
export const render = (helm: string, options: string[], name = 'leadwire'): Manifest[] =>
  parseAllDocuments(runHelm(helm, ['template', name, CHART, '--namespace', 'leads', ...options]))
    .map((document) => document.toJS())
    .filter(Boolean)

/** What kubeconform finds wrong with manifests, unknown fields too. */
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

/** Whether labels are those of a selector, and more. */
export const matches = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

/** The pods of Deployments and Jobs, and the one of `helm test`, each with the name of what makes it. */
export const podsOf = (manifests: Manifest[]): Manifest[] =>
  manifests
    .filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind))
    .map(({ kind, metadata, spec }) => ({
      kind,
      name: metadata.name,
      ...(spec.template ?? { metadata, spec }),
    }))

/** What of a pod the profile `restricted` of Pod Security does not allow. */
export const violationsOf = ({ spec }: Manifest): string[] => {
  const { securityContext: pod } = spec
  const checks: [string, boolean][] = [
    ['runs as root', pod.runAsNonRoot === true && pod.runAsUser > 0],
    ['has no seccomp profile', pod.seccompProfile?.type === 'RuntimeDefault'],
    ['uses the host', !spec.hostNetwork && !spec.hostPID && !spec.hostIPC],
    ['mounts the host', (spec.volumes ?? []).every((volume: Manifest) => !volume.hostPath)],
    ['has a token of the cluster', spec.automountServiceAccountToken === false],
    ...spec.containers.flatMap(({ securityContext }: Manifest): [string, boolean][] => [
      ['may become more', securityContext.allowPrivilegeEscalation === false],
      ['has capabilities', securityContext.capabilities.drop.includes('ALL')],
      ['writes to its root', securityContext.readOnlyRootFilesystem === true],
    ]),
  ]
  return checks.filter(([, isRight]) => !isRight).map(([name]) => name)
}
