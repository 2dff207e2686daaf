import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  AccountsServiceDefinition,
  FiguresServiceDefinition,
  isWebUrl,
  LeadsServiceDefinition,
  ReconciliationServiceDefinition,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  connectGrpc,
  createLifecycle,
  createLogger,
  readConfig,
  readSetting,
  type TlsConfig,
  tlsSettings,
  watchTls,
} from '@leadwire/service-kit'

const repositoryRoot = resolve(__dirname, '../../..')

const DEADLINE_MS = 10_000
/** leads-service compares the figures of a day for at most two minutes. */
const FIGURES_DEADLINE_MS = 130_000

/** The gRPC targets that a command calls. */
export interface Targets {
  leads: string
  webhooks: string
  /** The service token, as a list of one element. The list is empty if no token is set. */
  tokens: string[]
  /** The files for TLS between services. */
  tls: TlsConfig
}

/**
 * Finds the running stack. If LEADS_SERVICE_URL and WEBHOOK_SERVICE_URL are both set, they describe a
 * deployed stack, together with SERVICE_TOKEN (or SERVICE_TOKEN_FILE) and TLS_*. Otherwise the settings that
 * are not set come from dev.json, which `npm start` writes in LEADWIRE_DATA (default `.data/`). If dev.json
 * names TLS files, they replace TLS_*. If dev.json is needed and does not exist, throws an error that says
 * what to do.
 */
export const findTargets = (env: NodeJS.ProcessEnv): Targets => {
  const { LEADS_SERVICE_URL: leads, WEBHOOK_SERVICE_URL: webhooks } = env
  const tokens = readSetting(env, 'SERVICE_TOKEN')?.split(',').slice(0, 1)
  const tlsConfig = readConfig(env, tlsSettings(env))
  if (leads && webhooks) return { leads, webhooks, tokens: tokens ?? [], tls: tlsConfig }
  const instead = 'set LEADS_SERVICE_URL and WEBHOOK_SERVICE_URL'
  return readDevFile(env, instead, ({ services, service_token, tls }) => ({
    leads: leads || services['leads-service'].grpc,
    webhooks: webhooks || services['webhook-service'].grpc,
    tokens: tokens ?? (service_token ? [service_token] : []),
    tls: tls ? toTlsConfig(tls) : tlsConfig,
  }))
}

/** The base URL of the public API, and a token of an account. */
export interface Api {
  url: string
  token: string
}

/**
 * Finds the API: `url` or LEADWIRE_URL, with `token` or LEADWIRE_TOKEN. Without a URL, uses the stack that
 * `npm start` runs, with its token by default. If the URL or the token is missing or invalid, throws an error
 * that says what to do.
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
  if (!token) throw new Error(`A token for ${url} is missing: give --token, or set LEADWIRE_TOKEN.`)
  return { url: url.replace(/\/+$/, ''), token }
}

/**
 * Finds the address of the console: below `url` or LEADWIRE_URL, or else below the address of the stack that
 * `npm start` runs. Throws an error that says what to do.
 */
export const findConsoleUrl = (env: NodeJS.ProcessEnv, givenUrl?: string): string => {
  const url =
    givenUrl ||
    env['LEADWIRE_URL'] ||
    readDevFile(env, 'give --url (LEADWIRE_URL)', (found) => found.base_url)
  if (!isWebUrl(url)) throw new Error(`--url (LEADWIRE_URL) must be an http or https address, not ${url}.`)
  return `${url.replace(/\/+$/, '')}/console`
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

const toTlsConfig = (tls: DevTls): TlsConfig => ({
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

/**
 * Creates clients of the services. Call `close` at the end, because open connections keep the process
 * running.
 */
export const connect = ({ leads, webhooks, tokens, tls }: Targets) => {
  const logger = createLogger({ service: 'leadwire', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const client = { deadlineMs: DEADLINE_MS }
  const options = { lifecycle, tokens, tls: watchTls(tls, { lifecycle, logger }) }
  const leadsService = connectGrpc(leads, options)
  return {
    accounts: leadsService.client(AccountsServiceDefinition, client),
    leads: leadsService.client(LeadsServiceDefinition, client),
    figures: leadsService.client(FiguresServiceDefinition, { deadlineMs: FIGURES_DEADLINE_MS }),
    reconciliation: leadsService.client(ReconciliationServiceDefinition, client),
    webhooks: connectGrpc(webhooks, options).client(WebhooksServiceDefinition, client),
    close: () => lifecycle.stop(),
  }
}

export type Connection = ReturnType<typeof connect>
