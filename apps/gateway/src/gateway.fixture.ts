import { createHash } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  AccountsServiceDefinition,
  type AccountsServiceImplementation,
  AttachmentsServiceDefinition,
  type AttachmentsServiceImplementation,
  AuditServiceDefinition,
  type AuditServiceImplementation,
  ImportsServiceDefinition,
  type ImportsServiceImplementation,
  LeadsServiceDefinition,
  type LeadsServiceImplementation,
  type RetrieveLeadsRequest,
  type ServerStreamingMethodResult,
  type VerifiedToken,
  WebhooksServiceDefinition,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import {
  answerEach,
  createGrpcServer,
  createLifecycle,
  createLogger,
  createMetrics,
  type Lifecycle,
  ServiceError,
  toRpcStatus,
} from '@leadwire/service-kit'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { buildGateway, type GatewayOptions } from './build-gateway'
import { connectClients } from './clients/connect-clients'
import { type GatewayConfig, readGatewayConfig } from './config'

/**
 * A service implementation for specs. For each streaming method, the implementation has a function that
 * returns the response to one batch.
 */
type Answering<Implementation> = {
  [Name in keyof Implementation]: Implementation[Name] extends (
    requests: AsyncIterable<infer Request>,
    context: never,
  ) => ServerStreamingMethodResult<infer Response>
    ? (request: Request) => Promise<Response>
    : Implementation[Name]
}

/**
 * The services behind the gateway in a spec of the gateway alone. A real gRPC server runs these
 * implementations.
 */
export interface Behind {
  leads?: Partial<Answering<LeadsServiceImplementation>>
  attachments?: Partial<AttachmentsServiceImplementation>
  accounts?: Partial<Answering<AccountsServiceImplementation>>
  /** The request handler of files-service. A real HTTP server runs this handler. */
  files?: RequestListener
  webhooks?: Partial<WebhooksServiceImplementation>
  imports?: Partial<ImportsServiceImplementation>
  /** The audit log of leads-service and of webhook-service, which are the same server here. */
  audit?: Partial<AuditServiceImplementation>
}

export interface RunningGateway {
  app: FastifyInstance
  lifecycle: ReturnType<typeof createLifecycle>
  /** Sends a request with the token `all`, unless the request has an Authorization header. */
  send: (request: InjectOptions) => Promise<LightMyRequestResponse>
  stop: () => Promise<void>
}

const TOKENS: Record<string, Partial<VerifiedToken>> = {
  all: { scopes: ['leads', 'manage'] },
  read: { scopes: ['leads:read'], tokenId: 8 },
  leads: { scopes: ['leads'] },
  test: { scopes: ['leads', 'manage'], test: true },
  manage: { scopes: ['manage'] },
  endpoint: { scopes: ['webhooks'], endpointId: 5, tokenId: 12 },
  suspended: { scopes: ['leads', 'manage'], suspended: true },
  expiring: { scopes: ['leads', 'manage'], expiresAtMs: Date.parse('2998-01-01T00:00:00Z') },
  ending: {
    scopes: ['leads'],
    expiresAtMs: Date.parse('2026-12-05T00:00:00.123Z'),
    expiresAt: '2026-12-05T00:00:00.123456Z',
  },
  'ending-today': { scopes: ['manage'], expiresAtMs: Date.parse('2026-11-21T18:29:59Z') },
  form: { scopes: ['leads:create'], origins: ['https://www.example.com'], tokenId: 9 },
  'other-form': { scopes: ['leads:create'], origins: ['https://www.example.com'], tokenId: 10 },
  'honeypot-form': {
    scopes: ['leads:create'],
    origins: ['https://www.example.com'],
    tokenId: 11,
    honeypot: '_gotcha',
  },
  expired: { scopes: ['leads'], expiresAtMs: Date.now() - 1 },
}

const findToken = (hash: Uint8Array, verifiedAtMs: number): VerifiedToken | undefined => {
  const found = Object.entries(TOKENS).find(([token]) =>
    createHash('sha256').update(token).digest().equals(hash),
  )
  const token = {
    tokenId: 7,
    accountId: 3,
    scopes: [],
    test: false,
    suspended: false,
    name: 'Spec',
    origins: [],
    verifiedAtMs,
  }
  if (!found) return undefined
  const [, fields] = found
  const stampKey = createHash('sha256').update(`stamps of ${fields.tokenId}`).digest()
  return { ...token, expiresAtMs: undefined, expiresAt: undefined, stampKey, ...fields }
}

// Makes all methods that the spec does not implement fail with an internal error.
const unforeseen = <Implementation extends object>(given: Partial<Implementation>): Implementation =>
  new Proxy(given, {
    get: (target, name) =>
      Reflect.get(target, name) ??
      (async () => {
        throw new ServiceError('internal', `${String(name)} was not expected`)
      }),
  }) as Implementation

const STREAMS = ['retrieveLeads', 'listLeads', 'createLeads', 'verifyTokens'] as const

const withStreams = <Implementation extends object>(
  given: Partial<Answering<Implementation>>,
  draining: AbortSignal,
): Implementation => {
  const answers = unforeseen(given as Record<string, (request: unknown) => Promise<unknown>>)
  const streams = STREAMS.map((name) => [name, answerEach(answers[name]!, draining)])
  return unforeseen({ ...given, ...Object.fromEntries(streams) }) as Implementation
}

/** Makes a `retrieveLeads` that finds every lead except `missing`. */
export const retrieveAllBut =
  (...missing: string[]) =>
  async ({ leads }: RetrieveLeadsRequest) => ({
    results: leads.map(({ reference }) => {
      const failure = toRpcStatus(new ServiceError('not_found', 'There is no such lead.'))
      return missing.includes(reference)
        ? { result: { $case: 'failure' as const, value: failure } }
        : { result: { $case: 'body' as const, value: Buffer.from('{}') } }
    }),
  })

export const SERVICE_TOKEN = 'a-token-for-the-specs'

const startFiles = async (
  answer: RequestListener = (_request, response) => void response.writeHead(500).end(),
  lifecycle: Lifecycle,
): Promise<URL> => {
  const server = createServer((request, response) => {
    if (request.url === '/healthz') response.end()
    else answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  lifecycle.onStop('files', () => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

type FixtureOptions = Partial<Omit<GatewayOptions, 'config'>> & {
  config?: Partial<GatewayConfig>
  /**
   * PostgreSQL's clock, in milliseconds since the epoch. The default is the option `now` if it is set, and
   * otherwise the clock of this process.
   */
  databaseNow?: () => number
}

export const startGateway = async (
  behind: Behind = {},
  { config, databaseNow, ...options }: FixtureOptions = {},
): Promise<RunningGateway> => {
  const verifiedAt = databaseNow ?? options.now ?? Date.now
  const logger = createLogger({ service: 'gateway', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const server = createGrpcServer({ logger, lifecycle, tokens: [SERVICE_TOKEN] })
  server.add(
    LeadsServiceDefinition,
    withStreams<LeadsServiceImplementation>(behind.leads ?? {}, lifecycle.signal),
  )
  server.add(AttachmentsServiceDefinition, unforeseen(behind.attachments ?? {}))
  server.add(WebhooksServiceDefinition, unforeseen(behind.webhooks ?? {}))
  server.add(ImportsServiceDefinition, unforeseen(behind.imports ?? {}))
  server.add(AuditServiceDefinition, unforeseen(behind.audit ?? {}))
  server.add(
    AccountsServiceDefinition,
    withStreams<AccountsServiceImplementation>(
      {
        findOrigin: async () => ({ found: false }),
        verifyTokens: async ({ hashes }) => ({
          results: hashes.map((hash) => ({ token: findToken(hash, verifiedAt()) })),
        }),
        ...behind.accounts,
      },
      lifecycle.signal,
    ),
  )
  const target = `127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`
  const files = await startFiles(behind.files, lifecycle)
  const settings: GatewayConfig = {
    ...readGatewayConfig({
      HEALTH_PORT: '9',
      LEADS_SERVICE_URL: target,
      FILES_SERVICE_URL: files.origin,
      WEBHOOK_SERVICE_URL: target,
      SERVICE_TOKEN,
      PUBLIC_URL: 'https://api.example.test',
    }),
    ...config,
  }
  const clients = connectClients(settings, {
    lifecycle,
    fileIdleMs: options.uploadLimits?.idleMs,
    // Far longer than in production, so that no request of a spec fails on a busy machine.
    verifyLimitMs: 60_000,
  })
  const app = buildGateway({
    clients,
    logger,
    lifecycle,
    metrics: createMetrics('gateway'),
    config: settings,
    ...options,
  })
  lifecycle.onStop('http server', () => app.close())
  await app.ready()
  return {
    app,
    lifecycle,
    send: (request) =>
      app.inject({ ...request, headers: { authorization: 'Bearer all', ...request.headers } }),
    stop: () => lifecycle.stop(),
  }
}
