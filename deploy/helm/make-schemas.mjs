// Generates deploy/helm/schemas/: JSON schemas of the kinds that the chart renders, for kubeconform. The sources
// are the OpenAPI document of Kubernetes and the definitions of the custom resources, from their Go modules.
// Needs Go.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const OUT = join(import.meta.dirname, 'schemas')

const KUBERNETES = 'k8s.io/kubernetes@v1.37.2'
const KINDS = {
  'apps.v1': ['Deployment'],
  'autoscaling.v2': ['HorizontalPodAutoscaler'],
  'batch.v1': ['Job'],
  'core.v1': ['ConfigMap', 'Pod', 'Secret', 'Service', 'ServiceAccount'],
  'networking.v1': ['Ingress', 'NetworkPolicy'],
  'policy.v1': ['PodDisruptionBudget'],
}
const CUSTOM = {
  'github.com/kedacore/keda/v2@v2.21.0': 'config/crd/bases/keda.sh_scaledobjects.yaml',
  'github.com/prometheus-operator/prometheus-operator@v0.85.0':
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  'sigs.k8s.io/gateway-api@v1.4.0': 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
}

const readFromModule = (module, path) => {
  const { Dir } = JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' }))
  return readFileSync(join(Dir, path), 'utf8')
}

/**
 * Converts an OpenAPI schema to a JSON Schema without descriptions, which refuses unknown fields. Calls
 * `onReference` with the name of each definition that the schema refers to.
 */
const strict = (node, onReference = () => undefined) => {
  if (Array.isArray(node)) return node.map((one) => strict(one, onReference))
  if (node === null || typeof node !== 'object') return node
  if (node.$ref) {
    onReference(node.$ref.replace('#/definitions/', ''))
    return { $ref: node.$ref }
  }
  if (node['x-kubernetes-int-or-string'] || node.format === 'int-or-string')
    return { type: ['string', 'integer'] }
  const entries = Object.entries(node)
    .filter(
      ([key, value]) =>
        !key.startsWith('x-kubernetes') && !(key === 'description' && typeof value === 'string'),
    )
    .map(([key, value]) => [key, strict(value, onReference)])
  const closes =
    node.properties && !node.additionalProperties && !node['x-kubernetes-preserve-unknown-fields']
  return { ...Object.fromEntries(entries), ...(closes && { additionalProperties: false }) }
}

const write = (kind, schema) =>
  writeFileSync(join(OUT, `${kind.toLowerCase()}.json`), `${JSON.stringify(schema)}\n`)

mkdirSync(OUT, { recursive: true })
const { definitions: all } = JSON.parse(readFromModule(KUBERNETES, 'api/openapi-spec/swagger.json'))
// A quantity may also be a number.
all['io.k8s.apimachinery.pkg.api.resource.Quantity'] = { type: ['string', 'number'] }
for (const [group, kinds] of Object.entries(KINDS)) {
  for (const kind of kinds) {
    const definitions = {}
    const add = (name) => {
      if (name in definitions) return
      definitions[name] = undefined
      definitions[name] = strict(all[name], add)
    }
    const name = `io.k8s.api.${group}.${kind}`
    add(name)
    write(kind, { $ref: `#/definitions/${name}`, definitions })
  }
}
for (const [module, path] of Object.entries(CUSTOM)) {
  const { spec } = parse(readFromModule(module, path))
  const { schema } = spec.versions.find(({ storage }) => storage)
  const { properties, ...rest } = strict(schema.openAPIV3Schema)
  write(spec.names.kind, { ...rest, properties: { ...properties, metadata: { type: 'object' } } })
}
