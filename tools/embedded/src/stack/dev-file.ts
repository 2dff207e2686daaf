import type { ServicesTls } from '../tls/tls-files'
import type { Demo } from './demo-account'
import type { Servers } from './servers'
import type { ServicePlan } from './services'

/** The content of `dev.json`. Scripts rely on its structure. */
export type DevFile = {
  base_url: string
  /** Without a trailing slash, as leads-service expects it. */
  assets_url: string
  token: string
  account: { id: number; api_key: string }
  webhook_secret: string | null
  /** files-service has `http` in place of `grpc`. */
  services: Record<
    string,
    { pid: number; grpc?: string | null; http?: string; health: string; metrics: string }
  >
  pids: { postgres: number; nats: number; minio?: number }
  postgres_url: string
  nats_url: string
  service_token: string | null
  /** With --tls: a client certificate for the services, and the authority of the services and servers. */
  tls?: { cert_file: string; key_file: string; ca_file: string; server_name: string }
}

export type Running = {
  base: string
  publicUrl: string
  demo: Demo
  /**
   * Signs the demo admin in, once. Undefined if the stack is not on loopback, or if there is no demo
   * admin.
   */
  signInUrl: string | undefined
  plans: ServicePlan[]
  servers: Servers
  tls: ServicesTls | undefined
}

export function buildDevFile(
  { base, demo, plans, servers, tls }: Running,
  pids: Map<string, number>,
): DevFile {
  const pid = (name: string) => pids.get(name) ?? 0
  return {
    base_url: base,
    assets_url: plans[0]?.env['ASSETS_URL']?.replace(/\/$/, '') ?? `${base}/assets`,
    token: demo.token,
    account: demo.account,
    webhook_secret: demo.webhooks.at(-1)?.secret ?? null,
    services: Object.fromEntries(
      plans.map(({ name, grpc, http, health }) => [
        name,
        { pid: pid(name), ...(http === null ? { grpc } : { http }), health, metrics: `${health}/metrics` },
      ]),
    ),
    pids: {
      postgres: pid('postgres'),
      nats: pid('nats'),
      ...(pids.has('minio') && { minio: pid('minio') }),
    },
    postgres_url: servers.postgres,
    nats_url: servers.nats,
    // Clients use the first token if there are two.
    service_token: plans[0]?.env['SERVICE_TOKEN']?.split(',')[0] ?? null,
    ...(tls && {
      tls: { cert_file: tls.certFile, key_file: tls.keyFile, ca_file: tls.caFile, server_name: 'localhost' },
    }),
  }
}
