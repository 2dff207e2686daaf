import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isSet, readRelatedSetting } from '@leadwire/service-kit/runtime'
import type { ObjectStore } from '../minio/minio'
import { repositoryRoot } from '../paths'
import { type Child, startChild } from '../process/child'
import { freePort } from '../process/free-port'
import type { ServicesTls } from '../tls/tls-files'

export const serviceNames = ['gateway', 'leads-service', 'files-service', 'webhook-service'] as const
export type ServiceName = (typeof serviceNames)[number]

const portSettings: Partial<Record<ServiceName, string>> = { gateway: 'PORT', 'files-service': 'HTTP_PORT' }

/** One copy of a service with its addresses and settings. */
export type ServicePlan = {
  /** `gateway`, `gateway-2` … */
  name: string
  service: ServiceName
  /** The base URL of the gateway's REST interface. null for other services. */
  base: string | null
  /** The gRPC address as `host:port`. null for the gateway and files-service. */
  grpc: string | null
  /** The base URL of files-service's HTTP interface. null for other services. */
  http: string | null
  /** The base URL of /healthz, /readyz and /metrics. */
  health: string
  env: NodeJS.ProcessEnv
}

export type Surroundings = {
  replicas: number
  gateway: { host: string; port: number }
  databases: { leads: string; webhooks: string }
  nats: string
  /**
   * The file with the authorities that issued the certificate of NATS. Undefined if NATS has no certificate.
   */
  natsCaFile?: string | undefined
  /** STORE_URL and the settings that depend on it. */
  store: Record<string, string>
  /** The folder for e-mails to users. SMTP_URL in the environment replaces it. */
  mail: string
  /** If set, a gateway is not ready until this file exists. */
  readyMarker?: string | undefined
  /** The token for calls between services. SERVICE_TOKEN in the environment replaces it. */
  serviceToken: string
  /** The key that encrypts stored secrets. ENCRYPTION_KEYS in the environment replaces it. */
  encryptionKey: string
  /** The files for TLS between services. */
  tls?: ServicesTls | undefined
  /**
   * The environment of each service. The settings that the plan computes replace values of this environment,
   * except where noted.
   */
  env: NodeJS.ProcessEnv
  /** Returns a free port. */
  choosePort?: (host: string) => Promise<number>
}

/**
 * Chooses the ports of all services, and puts the addresses of the other services into each service's
 * settings.
 */
export async function planServices({
  replicas,
  gateway,
  databases,
  nats,
  natsCaFile,
  store,
  mail,
  readyMarker,
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
  const target = (service: ServiceName) => `ipv4:${listAddresses(copies, service).join(',')}`
  const files = copies.flatMap(({ http }) => http ?? [])
  const broker = { NATS_URL: nats, ...(natsCaFile !== undefined && { NATS_CA_FILE: natsCaFile }) }
  const own: Record<ServiceName, NodeJS.ProcessEnv> = {
    gateway: {
      PUBLIC_URL: isSet(env, 'PUBLIC_URL') ? env['PUBLIC_URL'] : baseUrl(gateway),
      LEADS_SERVICE_URL: target('leads-service'),
      FILES_SERVICE_URL: files.join(','),
      WEBHOOK_SERVICE_URL: target('webhook-service'),
      ...(readyMarker !== undefined && { READY_MARKER: readyMarker }),
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
  const shared = {
    ...env,
    ASSETS_URL: env['ASSETS_URL'] || `${findPublicUrl(env, gateway).replace(/\/+$/, '')}/assets`,
    SERVICE_TOKEN: env['SERVICE_TOKEN'] || serviceToken,
    ENCRYPTION_KEYS: env['ENCRYPTION_KEYS'] || encryptionKey,
    ...(tls && tlsSettings(tls)),
  }
  return copies.map(({ ports, ...copy }) => ({ ...copy, env: { ...shared, ...own[copy.service], ...ports } }))
}

/** Returns the settings with which a service or the command line uses TLS for calls to a stack's services. */
export function tlsSettings({ certFile, keyFile, caFile }: ServicesTls) {
  // Sets a server name, because clients connect to IP addresses.
  return {
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    TLS_CA_FILE: caFile,
    TLS_SERVER_NAME: 'localhost',
  }
}

/** Returns the base URL of a server for clients on this machine, without a trailing slash. */
export function baseUrl({ host, port }: { host: string; port: number }, scheme = 'http'): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** Returns the base URL in events and links: the user's PUBLIC_URL, or else the URL of the first gateway. */
export function findPublicUrl(env: NodeJS.ProcessEnv, gateway: { host: string; port: number }): string {
  return readRelatedSetting(env, 'PUBLIC_URL') || baseUrl(gateway)
}

/** Returns the settings of files-service for an S3 store. */
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

/** Starts a service from the code of the checkout at `root`. */
export function startService(
  plan: ServicePlan,
  onLine?: (line: string) => void,
  root = repositoryRoot,
): Promise<Child> {
  return startChild({ ...serviceCommand(plan.service, [], root), name: plan.name, env: plan.env, onLine })
}

/** Returns the command that runs a service. */
export function serviceCommand(
  service: ServiceName,
  args: string[] = [],
  root = repositoryRoot,
): { command: string; args: string[] } {
  return { command: process.execPath, args: [entryPoint(service, root), ...args] }
}

/** Throws if a service is not built. */
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

function listAddresses(
  copies: { service: ServiceName; grpc: string | null }[],
  service: ServiceName,
): string[] {
  return copies.flatMap((copy) => (copy.service === service && copy.grpc ? [copy.grpc] : []))
}
