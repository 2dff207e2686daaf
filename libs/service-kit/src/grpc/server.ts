import { type ChannelOptions, ServerCredentials } from '@grpc/grpc-js'
import { DESCRIPTORS, HealthDefinition } from '@leadwire/contracts'
import type { Live } from '@leadwire/settings'
import type { CallContext, CompatServiceDefinition, ServerMiddleware, ServiceImplementation } from 'nice-grpc'
import { createServer, ServerError, Status } from 'nice-grpc'
import { errorDetailsServerMiddleware } from 'nice-grpc-error-details'
import { ServerReflection, ServerReflectionService } from 'nice-grpc-server-reflection'
import { Registry } from 'prom-client'
import type { HealthCheck } from '../process/health'
import type { Logger } from '../process/logger'
import { createFairQueue } from '../queues/fair-queue'
import { createTokenCheck } from '../security/service-token'
import type { Tls } from '../security/tls'
import { type Caller, MESSAGE_LIMITS } from './client'
import { decodeToErrors, errorsToStatus } from './errors'
import { healthService } from './health'
import { observeCalls } from './observe-calls'

const SERVER_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // Ends a connection after this time, because a client resolves a name again only when its connection ends.
  // Without the limit, a new copy would get no calls. Calls in flight finish.
  'grpc.max_connection_age_ms': 30_000,
}

const requireToken = (tokens: Live<readonly string[]>): ServerMiddleware => {
  const isKnown = createTokenCheck(tokens)
  return async function* (call, context) {
    const open = call.method.path.startsWith(`/${HealthDefinition.fullName}/`)
    if (!open && !isKnown(context.metadata.get('authorization')))
      throw new ServerError(Status.UNAUTHENTICATED, 'the service token is missing or wrong')
    return yield* call.next(call.request, context)
  }
}

/**
 * The maximum number of unary calls of one account that run at once. It is low, because a service has only
 * ten connections to its database by default.
 */
const CALLS_OF_AN_ACCOUNT = 3
/** How long a unary call waits until its account has fewer calls. */
const MAX_ACCOUNT_WAIT_MS = 3000

/** The context of a unary call that names an account. */
export interface BoundContext extends CallContext {
  /**
   * Lets the next call of the account start, although this call continues. Call this function before a wait
   * that needs no database connection.
   */
  leavePlace: () => void
}

/**
 * Returns the account that a request names, directly or in one of its messages, such as
 * `{ appointment: { accountId } }`.
 */
const findAccountId = (request: object): number | undefined => {
  for (const message of [request, ...Object.values(request)]) {
    const { accountId } = (message ?? {}) as { accountId?: unknown }
    if (typeof accountId === 'number') return accountId
  }
  return undefined
}

/**
 * Runs at most three unary calls of an account at once, so that its slow statements leave connections to the
 * other accounts. Further calls wait up to `maxWaitMs`. Does not limit batches on streams: their operations
 * use `createTurns`.
 */
const boundAccounts = (maxWaitMs: number): ServerMiddleware => {
  const enter = createFairQueue({
    computeShare: () => CALLS_OF_AN_ACCOUNT,
    maxWaiting: 2000,
    maxWaitMs,
  })
  return async function* (call, context) {
    const accountId = findAccountId(call.request as object)
    if (accountId === undefined) return yield* call.next(call.request, context)
    const leave = await enter(accountId)
    let hasLeft = false
    const leavePlace = () => {
      if (!hasLeft) leave()
      hasLeft = true
    }
    try {
      context.signal.throwIfAborted()
      const bound: BoundContext = { ...context, leavePlace }
      return yield* call.next(call.request, bound)
    } finally {
      leavePlace()
    }
  }
}

// Credentials whose certificates can be replaced while the server runs. The credentials that grpc-js's
// `createSsl` makes cannot change. grpc-js has certificate providers, which extend `ServerCredentials` in the
// same way as this class, but they are experimental.
class ReplaceableCredentials extends ServerCredentials {
  constructor(tls: Tls) {
    super({ requestCert: true, rejectUnauthorized: true }, tls.current())
    tls.onChange((certificates) => this.updateSecureContextOptions(certificates))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

/**
 * Returns the reflection service. Creates `ServerReflection` only for the first request, because reading all
 * descriptors takes a tenth of the start-up time.
 */
const reflection = (services: Iterable<string>): ServiceImplementation<typeof ServerReflectionService> => {
  let implementation: ReturnType<typeof ServerReflection> | undefined
  return {
    async *serverReflectionInfo(requests, context) {
      implementation ??= ServerReflection(DESCRIPTORS, [...services])
      yield* implementation.serverReflectionInfo(requests, context)
    },
  }
}

/**
 * Makes a gRPC server with health and reflection. A call must send one of `tokens`, and with `tls` also a
 * client certificate. A drain lets the calls in flight finish.
 */
export const createGrpcServer = (
  options: Caller & {
    logger: Logger
    checks?: HealthCheck[]
    metrics?: Registry
    /** How long a unary call waits until its account has fewer calls. */
    maxAccountWaitMs?: number
  },
) => {
  const { logger, lifecycle, tokens, tls, checks = [], metrics = new Registry() } = options
  const { maxAccountWaitMs = MAX_ACCOUNT_WAIT_MS } = options
  const server = createServer(SERVER_OPTIONS)
    .use(errorDetailsServerMiddleware)
    .use(observeCalls(metrics))
    .use(requireToken(tokens))
    .use(errorsToStatus(logger))
    .use(boundAccounts(maxAccountWaitMs))
  const services = new Set<string>()
  server.add(HealthDefinition, healthService(services, checks, lifecycle))
  return {
    add: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      implementation: ServiceImplementation<Definition>,
    ): void => {
      services.add((definition as { fullName: string }).fullName)
      server.add(decodeToErrors(definition), implementation)
    },
    listen: async ({ host, port }: { host: string; port: number }): Promise<number> => {
      server.add(ServerReflectionService, reflection([HealthDefinition.fullName, ...services]))
      const ours = tls ? new ReplaceableCredentials(tls) : ServerCredentials.createInsecure()
      const bound = await server.listen(`${host}:${port}`, ours)
      lifecycle.onStop('grpc server', () => server.shutdown())
      return bound
    },
  }
}

export type GrpcServer = ReturnType<typeof createGrpcServer>
