import type { Server } from 'node:https'
import {
  createTokenCheck,
  type Live,
  type Logger,
  type Metrics,
  measureRequests,
  PROBLEM_TYPE,
  problemJson,
  problemOf,
  readinessOf,
  ServiceError,
  type Tls,
  traceRequests,
} from '@leadwire/service-kit'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { createFilesMetrics } from './files/files-metrics'
import { type Dependencies, deleteFile, downloadFile, listFiles } from './files/stored-files'
import { uploadFile } from './files/upload-file'

// Longer than the gateway's 30 s: the gateway knows whether the client or this service was silent.
const IDLE_LIMIT_MS = 40_000

const DISCARD_LIMIT_MS = 5000

export interface FilesServerOptions extends Omit<Dependencies, 'metrics'> {
  registry: Metrics
  /** A request needs one of them, if there is one. */
  tokens: Live<readonly string[]>
  /** With it the server speaks https, and clients must show a certificate. */
  tls?: Tls | undefined
  /** How long a connection may be silent within a request before it is closed. */
  idleMs?: number
}

export const buildFilesServer = (options: FilesServerOptions): FastifyInstance => {
  const { store, logger, lifecycle, registry, tls, idleMs = IDLE_LIMIT_MS } = options
  const app: FastifyInstance = fastify({
    ...(tls && { https: { ...tls.current(), requestCert: true } }),
    connectionTimeout: idleMs,
    routerOptions: { maxParamLength: 1024 },
    // In a drain accepted requests are still answered.
    return503OnClosing: false,
  })
  tls?.onChange((certificates) => (app.server as Server).setSecureContext(certificates))
  traceRequests(app)
  measureRequests(app, registry)
  app.setErrorHandler(answerError(logger))
  app.setNotFoundHandler(async () => {
    throw new ServiceError('not_found', 'There is nothing at this address.')
  })
  // The operation reads the bytes itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.get('/healthz', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const missing = await readinessOf([{ name: 'store', check: () => store.check() }], lifecycle)
    if (missing.length > 0) reply.code(503)
    return missing.length > 0 ? { status: 'not ready', missing } : { status: 'ready' }
  })
  const isKnown = createTokenCheck(options.tokens)
  const dependencies = { store, logger, lifecycle, metrics: createFilesMetrics(registry) }
  app.register(async (scope) => {
    scope.addHook('onRequest', async ({ headers }) => {
      if (!isKnown(headers.authorization))
        throw new ServiceError('unauthenticated', 'The service token is missing or wrong.')
    })
    for (const add of [uploadFile, downloadFile, deleteFile, listFiles]) add(scope, dependencies)
  })
  return app
}

const answerError =
  (logger: Logger) => (thrown: FastifyError | ServiceError, request: FastifyRequest, reply: FastifyReply) => {
    // The client disconnected: that is no error, and no response reaches it.
    if (request.raw.errored !== null || reply.raw.destroyed) return reply.hijack()
    const isRefusal =
      !(thrown instanceof ServiceError) && (thrown.validation || (thrown.statusCode ?? 500) < 500)
    const problem = problemOf(isRefusal ? new ServiceError('bad_request', thrown.message) : thrown)
    // Not the address: its query has the name of a file.
    const facts = { method: request.method, route: request.routeOptions.url, err: thrown }
    if (problem.status === 500) logger.error(facts, 'request failed')
    else if (thrown.cause) logger.warn(facts, thrown.message)
    discardBody(request)
    return reply
      .code(problem.status)
      .headers({ ...problem.headers, 'content-type': PROBLEM_TYPE })
      .send(problemJson(problem, request.id))
  }

/**
 * Discards the rest of a refused body: closing a connection with unread bytes resets it, and may lose the response. The gateway
 * closes the connection once it has the response.
 */
const discardBody = ({ raw }: FastifyRequest): void => {
  if (raw.complete || raw.destroyed) return
  raw.on('error', () => undefined)
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DISCARD_LIMIT_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}
