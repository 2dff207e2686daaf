import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  AccountsServiceDefinition,
  LeadsServiceDefinition,
  ReconciliationServiceDefinition,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  connectGrpc,
  createLifecycle,
  createLogger,
  readConfig,
  settingOf,
  type TlsConfig,
  tlsSettings,
  watchTls,
} from '@leadwire/service-kit'

const repositoryRoot = resolve(__dirname, '../../..')

const DEADLINE_MS = 10_000

/** The gRPC targets a command talks to. */
export interface Targets {
  leads: string
  webhooks: string
  /** What services show each other. */
  tokens: string[]
  /** The files of TLS between services. */
  tls: TlsConfig
}

/**
 * Where the running stack is: LEADS_SERVICE_URL, WEBHOOK_SERVICE_URL, SERVICE_TOKEN (or SERVICE_TOKEN_FILE) and TLS_* where they are set (a deployed stack), else what
 * `npm start` wrote to dev.json in LEADWIRE_DATA (`.data/` when unset).
 *
 * Throws with what to do when neither tells.
 */
export const findTargets = (env: NodeJS.ProcessEnv): Targets => {
  const { LEADS_SERVICE_URL: leads, WEBHOOK_SERVICE_URL: webhooks } = env
  const tokens = settingOf(env, 'SERVICE_TOKEN')?.split(',').slice(0, 1)
  const own = readConfig(env, tlsSettings(env))
  if (leads && webhooks) return { leads, webhooks, tokens: tokens ?? [], tls: own }
  const instead = 'set LEADS_SERVICE_URL and WEBHOOK_SERVICE_URL'
  return readDevFile(env, instead, ({ services, service_token, tls }) => ({
    leads: leads || services['leads-service'].grpc,
    webhooks: webhooks || services['webhook-service'].grpc,
    tokens: tokens ?? (service_token ? [service_token] : []),
    tls: tls ? configOf(tls) : own,
  }))
}

/** Where the public API is, and a token of an account. */
export interface Api {
  url: string
  token: string
}

/**
 * The API of `url` or LEADWIRE_URL, with `token` or LEADWIRE_TOKEN; without an address that of the stack that `npm start`
 * runs, with its token where none is given. Throws with what to do.
 */
export const findApi = (env: NodeJS.ProcessEnv, given: Partial<Api> = {}): Api => {
  const url = given.url || env['LEADWIRE_URL']
  const token = given.token || env['LEADWIRE_TOKEN']
  if (!url)
    return readDevFile(env, 'give --url and --token (LEADWIRE_URL and LEADWIRE_TOKEN)', (found) => ({
      url: found.base_url,
      token: token || found.token,
    }))
  if (!isWebUrl(url)) throw new Error(`--url (LEADWIRE_URL) must be an http or https address, not ${url}.`)
  if (!token) throw new Error(`There is no token for ${url}: give --token, or set LEADWIRE_TOKEN.`)
  return { url: url.replace(/\/+$/, ''), token }
}

/** Whether a text is an http or https address without credentials. */
export const isWebUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password
}

interface DevFile {
  base_url: string
  token: string
  services: Record<'leads-service' | 'webhook-service', { grpc: string }>
  service_token: string | null
  tls?: DevTls
}

interface DevTls {
  cert_file: string
  key_file: string
  ca_file: string
  server_name: string
}

const configOf = (tls: DevTls): TlsConfig => ({
  TLS_CERT_FILE: tls.cert_file,
  TLS_KEY_FILE: tls.key_file,
  TLS_CA_FILE: tls.ca_file,
  TLS_SERVER_NAME: tls.server_name,
})

const readDevFile = <T>(env: NodeJS.ProcessEnv, instead: string, pick: (devFile: DevFile) => T): T => {
  const file = join(resolve(env['LEADWIRE_DATA'] || join(repositoryRoot, '.data')), 'dev.json')
  try {
    return pick(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new Error(
      `No running stack was found: ${file} can't be read. Run npm start, point LEADWIRE_DATA at its folder, or ${instead}.`,
      { cause: error },
    )
  }
}

/** Clients of the services behind a stack. `close` lets the process end. */
export const connect = ({ leads, webhooks, tokens, tls }: Targets) => {
  const logger = createLogger({ service: 'leadwire', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const client = { deadlineMs: DEADLINE_MS }
  const options = { lifecycle, tokens, tls: watchTls(tls, { lifecycle, logger }) }
  const leadsService = connectGrpc(leads, options)
  return {
    accounts: leadsService.client(AccountsServiceDefinition, client),
    leads: leadsService.client(LeadsServiceDefinition, client),
    reconciliation: leadsService.client(ReconciliationServiceDefinition, client),
    webhooks: connectGrpc(webhooks, options).client(WebhooksServiceDefinition, client),
    close: () => lifecycle.stop(),
  }
}

export type Connection = ReturnType<typeof connect>
