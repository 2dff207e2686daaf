import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ObjectStore } from '../minio/minio'
import { repositoryRoot } from '../paths'
import { type Child, startChild } from '../process/child'
import { freePort } from '../process/free-port'
import type { ServicesTls } from '../tls/tls-files'

export const serviceNames = ['gateway', 'leads-service', 'files-service', 'webhook-service'] as const
export type ServiceName = (typeof serviceNames)[number]

const portSettings: Partial<Record<ServiceName, string>> = { gateway: 'PORT', 'files-service': 'HTTP_PORT' }

/** One copy of a service: where it will listen, and its settings. */
export type ServicePlan = {
  /** `gateway`, `gateway-2` … */
  name: string
  service: ServiceName
  /** Where the gateway serves its REST interface; null for the others. */
  base: string | null
  /** `host:port`; null for the gateway and files-service, which offer no gRPC. */
  grpc: string | null
  /** Where files-service serves its HTTP interface; null for the others. */
  http: string | null
  /** The address under which /healthz, /readyz and /metrics are. */
  health: string
  env: NodeJS.ProcessEnv
}

export type Surroundings = {
  replicas: number
  gateway: { host: string; port: number }
  databases: { leads: string; webhooks: string }
  nats: string
  /** The authorities that the certificate of NATS is checked by, where it has one. */
  natsCaFile?: string | undefined
  /** STORE_URL and what belongs to it. */
  store: Record<string, string>
  /** The folder into which messages to users are written, unless the environment names SMTP_URL. */
  mail: string
  /** What the services show each other, unless the environment names SERVICE_TOKEN. */
  serviceToken: string
  /** What the services encrypt secrets with, unless the environment names ENCRYPTION_KEYS. */
  encryptionKey: string
  /** What the services show each other, where they speak TLS. */
  tls?: ServicesTls | undefined
  /** The environment each starts from; what is said above wins. */
  env: NodeJS.ProcessEnv
  /** Answers with a port that may be listened on. */
  choosePort?: (host: string) => Promise<number>
}

/** Chooses a port for everything and tells each service where the others are. */
export async function planServices({
  replicas,
  gateway,
  databases,
  nats,
  natsCaFile,
  store,
  mail,
  serviceToken,
  encryptionKey,
  tls,
  env,
  choosePort = freePort,
}: Surroundings): Promise<ServicePlan[]> {
  const copies = await Promise.all(
    serviceNames.flatMap((service) =>
      Array.from({ length: replicas }, (_, index) => placeCopy({ service, index, gateway, tls, choosePort })),
    ),
  )
  const target = (service: ServiceName) => `ipv4:${addresses(copies, service).join(',')}`
  const files = copies.flatMap(({ http }) => http ?? [])
  const broker = { NATS_URL: nats, ...(natsCaFile !== undefined && { NATS_CA_FILE: natsCaFile }) }
  const own: Record<ServiceName, NodeJS.ProcessEnv> = {
    gateway: {
      LEADS_SERVICE_URL: target('leads-service'),
      FILES_SERVICE_URL: files.join(','),
      WEBHOOK_SERVICE_URL: target('webhook-service'),
    },
    'leads-service': {
      DATABASE_URL: databases.leads,
      ...broker,
      FILES_SERVICE_URL: files.join(','),
      WEBHOOK_SERVICE_URL: target('webhook-service'),
    },
    'files-service': store,
    'webhook-service': {
      DATABASE_URL: databases.webhooks,
      ...broker,
      SMTP_URL: env['SMTP_URL'] || pathToFileURL(mail).href,
      SMTP_FROM: env['SMTP_FROM'] || 'Leadwire <leadwire@example.com>',
    },
  }
  const base = baseUrl(gateway)
  const shared = {
    ...env,
    ASSETS_URL: env['ASSETS_URL'] || `${(env['PUBLIC_URL'] || base).replace(/\/+$/, '')}/assets`,
    SERVICE_TOKEN: env['SERVICE_TOKEN'] || serviceToken,
    ENCRYPTION_KEYS: env['ENCRYPTION_KEYS'] || encryptionKey,
    ...(tls && tlsSettings(tls)),
  }
  return copies.map(({ ports, ...copy }) => ({ ...copy, env: { ...shared, ...own[copy.service], ...ports } }))
}

/** The settings with which a service, or the command line, speaks TLS to the services of a stack. */
export function tlsSettings({ certFile, keyFile, caFile }: ServicesTls) {
  // Copies are called by their addresses, for which TLS knows no server name.
  return {
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    TLS_CA_FILE: caFile,
    TLS_SERVER_NAME: 'localhost',
  }
}

/** The address under which a gateway is reached from this machine; no slash at its end. */
export function baseUrl({ host, port }: { host: string; port: number }, scheme = 'http'): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** The settings with which files-service uses an S3 store. */
export function s3Settings({
  endpoint,
  accessKey,
  secretKey,
  region,
  bucket,
  caFile,
}: ObjectStore): Record<string, string> {
  return {
    STORE_URL: `s3://${bucket}`,
    S3_ENDPOINT: endpoint,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
    S3_REGION: region,
    ...(caFile !== undefined && { S3_CA_FILE: caFile }),
  }
}

/** `root` is the checkout whose code is run. */
export function startService(
  plan: ServicePlan,
  onLine?: (line: string) => void,
  root = repositoryRoot,
): Promise<Child> {
  return startChild({ ...serviceCommand(plan.service, [], root), name: plan.name, env: plan.env, onLine })
}

/** How a service is run. */
export function serviceCommand(
  service: ServiceName,
  args: string[] = [],
  root = repositoryRoot,
): { command: string; args: string[] } {
  return { command: process.execPath, args: [entryPoint(service, root), ...args] }
}

/** @throws when a service is not built */
export function requireBuilt(): void {
  const missing = serviceNames.map((name) => entryPoint(name)).filter((path) => !existsSync(path))
  if (missing.length > 0) throw new Error(`not built: ${missing.join(', ')}. Run "npx nx run-many -t build".`)
}

function entryPoint(service: ServiceName, root = repositoryRoot): string {
  return join(root, 'apps', service, 'dist/main.js')
}

async function placeCopy({
  service,
  index,
  gateway,
  tls,
  choosePort,
}: {
  service: ServiceName
  index: number
  gateway: Surroundings['gateway']
  tls: ServicesTls | undefined
  choosePort: (host: string) => Promise<number>
}) {
  const isGateway = service === 'gateway'
  const isFiles = service === 'files-service'
  const host = isGateway ? gateway.host : '127.0.0.1'
  const healthPort = await choosePort(host)
  const port = isGateway && index === 0 ? gateway.port : await choosePort(host)
  return {
    name: index === 0 ? service : `${service}-${index + 1}`,
    service,
    base: isGateway ? baseUrl({ host, port }) : null,
    grpc: isGateway || isFiles ? null : `127.0.0.1:${port}`,
    http: isFiles ? baseUrl({ host, port }, tls ? 'https' : 'http') : null,
    health: baseUrl({ host, port: healthPort }),
    ports: {
      HOST: host,
      HEALTH_PORT: String(healthPort),
      [portSettings[service] ?? 'GRPC_PORT']: String(port),
    },
  }
}

function addresses(copies: { service: ServiceName; grpc: string | null }[], service: ServiceName): string[] {
  return copies.flatMap((copy) => (copy.service === service && copy.grpc ? [copy.grpc] : []))
}
