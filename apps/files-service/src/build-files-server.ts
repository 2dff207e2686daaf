import type { Server } from 'node:https'
import {
  createTokenCheck,
  type Live,
  type Logger,
  listFailedChecks,
  type Metrics,
  measureRequests,
  PROBLEM_TYPE,
  problemJson,
  ServiceError,
  type Tls,
  toProblem,
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

// Longer than the gateway's limit of 30 s, so that the gateway times out first. Only the gateway can tell
// whether the client or this service was idle.
const IDLE_LIMIT_MS = 40_000

const DISCARD_LIMIT_MS = 5000

export interface FilesServerOptions extends Omit<Dependencies, 'metrics'> {
  registry: Metrics
  /** Requests must carry one of these tokens, unless the list is empty. */
  tokens: Live<readonly string[]>
  /** Makes the server speak https and require a client certificate. */
  tls?: Tls | undefined
  /** Closes a connection that has been idle for this many milliseconds during a request. */
  idleMs?: number
}

export const buildFilesServer = (options: FilesServerOptions): FastifyInstance => {
  const { store, space, logger, lifecycle, registry, tls, detectionMs, idleMs = IDLE_LIMIT_MS } = options
  const app: FastifyInstance = fastify({
    ...(tls && { https: { ...tls.current(), requestCert: true } }),
    connectionTimeout: idleMs,
    routerOptions: { maxParamLength: 1024 },
    // Requests that arrive during a drain are still served.
    return503OnClosing: false,
  })
  tls?.onChange((certificates) => (app.server as Server).setSecureContext(certificates))
  traceRequests(app)
  measureRequests(app, registry)
  app.setErrorHandler(handleError(logger))
  app.setNotFoundHandler(async () => {
    throw new ServiceError('not_found', 'There is nothing at this address.')
  })
  // Leaves the body to the operation, which reads it as a stream.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.get('/healthz', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const missing = await listFailedChecks([{ name: 'store', check: () => store.check() }], lifecycle)
    if (missing.length > 0) reply.code(503)
    return missing.length > 0 ? { status: 'not ready', missing } : { status: 'ready' }
  })
  const isKnown = createTokenCheck(options.tokens)
  const metrics = createFilesMetrics(registry)
  const dependencies = { store, space, logger, lifecycle, metrics, detectionMs }
  app.register(async (scope) => {
    scope.addHook('onRequest', async ({ headers }) => {
      if (!isKnown(headers.authorization))
        throw new ServiceError('unauthenticated', 'The service token is missing or wrong.')
    })
    for (const add of [uploadFile, downloadFile, deleteFile, listFiles]) add(scope, dependencies)
  })
  return app
}

const handleError =
  (logger: Logger) => (thrown: FastifyError | ServiceError, request: FastifyRequest, reply: FastifyReply) => {
    // A client that disconnected gets no response, and the log gets no error.
    if (request.raw.errored !== null || reply.raw.destroyed) return reply.hijack()
    const isBadRequest =
      !(thrown instanceof ServiceError) && (thrown.validation || (thrown.statusCode ?? 500) < 500)
    const problem = toProblem(isBadRequest ? new ServiceError('bad_request', thrown.message) : thrown)
    // Logs the route and not the URL, whose query contains the name of a file.
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
 * Reads and discards the rest of a rejected body, for at most 5 s. If the server closed the connection while
 * bytes are unread, TCP would reset the connection, and the client could lose the response. The gateway
 * closes the connection as soon as it has the response.
 */
const discardBody = ({ raw }: FastifyRequest): void => {
  if (raw.complete || raw.destroyed) return
  raw.on('error', () => undefined)
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DISCARD_LIMIT_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}
