import type { Server } from 'node:https'
import {
  createTokenCheck,
  type Lifecycle,
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
import { deleteFile } from './files/delete-file'
import { downloadFile } from './files/download-file'
import { listFiles } from './files/list-files'
import { type UploadDependencies, uploadFile } from './files/upload-file'

// Longer than the 30 s of the gateway, which is the one that knows who fell silent.
const IDLE_LIMIT_MS = 40_000

// How long the rest of a refused body is read and thrown away.
const DISCARD_LIMIT_MS = 5000

export interface FilesServerOptions extends UploadDependencies {
  lifecycle: Lifecycle
  /** One of them must be shown; without any, everyone may come in. */
  tokens: readonly string[]
  /** With it the server speaks https, and clients must show a certificate. */
  tls?: Tls | undefined
  registry?: Metrics
  /** How long a connection may carry nothing in the middle of a request before it is cut. */
  idleMs?: number
}

/** The HTTP server of files-service; nothing listens yet. */
export const buildFilesServer = (options: FilesServerOptions): FastifyInstance => {
  const { store, logger, lifecycle, tls, idleMs = IDLE_LIMIT_MS } = options
  const app: FastifyInstance = fastify({
    ...(tls && { https: { ...tls.current(), requestCert: true } }),
    connectionTimeout: idleMs,
    routerOptions: { maxParamLength: 1024 },
    // In a drain what was accepted before is still answered.
    return503OnClosing: false,
  })
  tls?.onChange((certificates) => (app.server as Server).setSecureContext(certificates))
  traceRequests(app)
  if (options.registry) measureRequests(app, options.registry)
  app.setErrorHandler(answerError(logger))
  app.setNotFoundHandler(async () => {
    throw new ServiceError('not_found', 'There is nothing at this address.')
  })
  // The bytes are read by the operation itself, at its own pace.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.get('/healthz', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const missing = await readinessOf([{ name: 'store', check: () => store.check() }], lifecycle)
    if (missing.length > 0) reply.code(503)
    return missing.length > 0 ? { status: 'not ready', missing } : { status: 'ready' }
  })
  const isKnown = createTokenCheck(options.tokens)
  app.register(async (scope) => {
    scope.addHook('onRequest', async ({ headers }) => {
      if (!isKnown(headers.authorization))
        throw new ServiceError('unauthenticated', 'The service token is missing or wrong.')
    })
    uploadFile(scope, options)
    downloadFile(scope, options)
    deleteFile(scope, options)
    listFiles(scope, options)
  })
  return app
}

// What Fastify itself refuses is a request that makes no sense.
const serviceErrorOf = (error: FastifyError | ServiceError): unknown =>
  !(error instanceof ServiceError) && (error.validation || (error.statusCode ?? 500) < 500)
    ? new ServiceError('bad_request', error.message)
    : error

const answerError =
  (logger: Logger) => (thrown: FastifyError | ServiceError, request: FastifyRequest, reply: FastifyReply) => {
    const error = serviceErrorOf(thrown)
    const problem = problemOf(error)
    // Nobody hears the answer to a client that disconnected, and what it broke off is no fault.
    const gone = request.raw.errored !== null || reply.raw.destroyed
    if (gone) return reply.hijack()
    // Not the address: the name of a file is in its query.
    const { method, routeOptions } = request
    const facts = { method, route: routeOptions.url }
    if (problem.status === 500) logger.error({ ...facts, err: error }, 'request failed')
    else if (thrown.cause) logger.warn({ ...facts, err: thrown }, thrown.message)
    discardBody(request)
    return reply
      .code(problem.status)
      .headers({ ...problem.headers, 'content-type': PROBLEM_TYPE })
      .send(problemJson(problem, request.id))
  }

/**
 * Reads what is left of a refused body and throws it away: a connection that is closed over unread bytes is reset, and
 * the answer may be lost with it. The gateway closes the connection itself once it has the answer.
 */
const discardBody = ({ raw }: FastifyRequest): void => {
  if (raw.complete || raw.destroyed) return
  raw.on('error', () => undefined)
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DISCARD_LIMIT_MS).unref()
  raw.once('close', () => clearTimeout(timer))
}
