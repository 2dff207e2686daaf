import { ServerCredentials } from '@grpc/grpc-js'
import { DESCRIPTORS, HealthDefinition } from '@leadwire/contracts'
import type { Live } from '@leadwire/settings'
import type { CompatServiceDefinition, ServerMiddleware, ServiceImplementation } from 'nice-grpc'
import { createServer, ServerError, Status } from 'nice-grpc'
import { errorDetailsServerMiddleware } from 'nice-grpc-error-details'
import { ServerReflection, ServerReflectionService } from 'nice-grpc-server-reflection'
import { Registry } from 'prom-client'
import type { HealthCheck } from '../process/health'
import type { Logger } from '../process/logger'
import { createFairQueue } from '../queues/fair-queue'
import { createTokenCheck } from '../security/service-token'
import type { Tls } from '../security/tls'
import { type Caller, SERVER_OPTIONS } from './channel'
import { errorsToStatus, readable } from './errors'
import { healthService } from './health'
import { observeCalls } from './observe-calls'

const requireToken = (tokens: Live<readonly string[]>): ServerMiddleware => {
  const isKnown = createTokenCheck(tokens)
  return async function* (call, context) {
    const open = call.method.path.startsWith(`/${HealthDefinition.fullName}/`)
    if (!open && !isKnown(context.metadata.get('authorization')))
      throw new ServerError(Status.UNAUTHENTICATED, 'a service token is needed')
    return yield* call.next(call.request, context)
  }
}

/** Of the ten connections to a database that a service has by default. */
const CALLS_OF_AN_ACCOUNT = 3

// Others wait as long as a call waits for a connection: an account's slow statements leave connections for all other accounts.
const boundAccounts = (): ServerMiddleware => {
  const enter = createFairQueue({ shareOf: () => CALLS_OF_AN_ACCOUNT, maxWaiting: 2000, maxWaitMs: 3000 })
  return async function* (call, context) {
    const { accountId } = call.request as { accountId?: number }
    if (accountId === undefined) return yield* call.next(call.request, context)
    const leave = await enter(accountId)
    try {
      context.signal.throwIfAborted()
      return yield* call.next(call.request, context)
    } finally {
      leave()
    }
  }
}

// For certificates that are replaced while the server runs. Those of `createSsl` can't be, and the certificate providers of grpc-js
// are experimental; both extend this class in the same way.
class ReplaceableCredentials extends ServerCredentials {
  constructor(tls: Tls) {
    super({ requestCert: true, rejectUnauthorized: true }, tls.current())
    tls.onChange((certificates) => this.updateSecureContextOptions(certificates))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

/** What `ServerReflection` does, from the first request on: reading all descriptors takes a tenth of a start. */
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
 * A gRPC server with health and reflection. Calls need one of `tokens`, and with `tls` a certificate. A drain finishes the calls in
 * flight.
 */
export const createGrpcServer = (
  options: Caller & { logger: Logger; checks?: HealthCheck[]; metrics?: Registry },
) => {
  const { logger, lifecycle, tokens, tls, checks = [], metrics = new Registry() } = options
  const server = createServer(SERVER_OPTIONS)
    .use(errorDetailsServerMiddleware)
    .use(observeCalls(metrics))
    .use(requireToken(tokens))
    .use(errorsToStatus(logger))
    .use(boundAccounts())
  const services = new Set<string>()
  server.add(HealthDefinition, healthService(services, checks, lifecycle))
  return {
    add: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      implementation: ServiceImplementation<Definition>,
    ): void => {
      services.add((definition as { fullName: string }).fullName)
      server.add(readable(definition), implementation)
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
