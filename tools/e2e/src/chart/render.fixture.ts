import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

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

/** The manifests of a release named `leadwire`. */
export const render = (helm: string, options: string[]): Manifest[] =>
  parseAllDocuments(runHelm(helm, ['template', 'leadwire', CHART, '--namespace', 'leads', ...options]))
    .map((document) => document.toJS())
    .filter(Boolean)

export const readYaml = (path: string): Manifest => parse(readFileSync(path, 'utf8'))

export const isHook = ({ metadata }: Manifest): boolean =>
  metadata.annotations?.['helm.sh/hook'] !== undefined

/** Whether labels are those of a selector, and more. */
export const matches = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

/** The pods of Deployments and Jobs, each with the name of what makes it. */
export const podsOf = (manifests: Manifest[]): Manifest[] =>
  manifests
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ kind, metadata, spec }) => ({ kind, name: metadata.name, ...spec.template }))

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
