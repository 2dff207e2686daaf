import {
  type BatcherMeters,
  type Lifecycle,
  type Logger,
  type Metrics,
  traceRequests,
} from '@leadwire/service-kit'
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify'
import { retrieveAccount } from './account/retrieve-account'
import { updateAccount } from './account/update-account'
import { serveAsset } from './assets/serve-asset'
import { attachFile } from './attachments/attach-file'
import { downloadAttachment } from './attachments/download-attachment'
import { listAttachments } from './attachments/list-attachments'
import { readMultipart } from './attachments/read-multipart'
import { createUploadDoor, type UploadLimits } from './attachments/upload-door'
import { listAudit } from './audit/list-audit'
import { createAuthenticate } from './auth/authenticate'
import { createTokenVerifier } from './auth/token-verifier'
import type { Clients } from './clients'
import { serveConsole } from './console/serve-console'
import { listDeliveries } from './deliveries/list-deliveries'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint } from './deliveries/test-webhook-endpoint'
import type { Dependencies } from './dependencies'
import { serveDocs } from './docs/serve-docs'
import { serveOpenApi } from './docs/serve-openapi'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { deleteWebhookEndpoint } from './endpoints/delete-webhook-endpoint'
import { listWebhookEndpointHealth } from './endpoints/list-webhook-endpoint-health'
import { listWebhookEndpoints } from './endpoints/list-webhook-endpoints'
import { recoverWebhookEndpoint } from './endpoints/recover-webhook-endpoint'
import { retrieveWebhookEndpoint } from './endpoints/retrieve-webhook-endpoint'
import { rotateWebhookSecret } from './endpoints/rotate-webhook-secret'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import { eraseLead } from './erasures/erase-lead'
import { retrieveErasure } from './erasures/retrieve-erasure'
import { WEBHOOKS } from './events/webhooks'
import { exportLead } from './exports/export-lead'
import { exportLeads } from './exports/export-leads'
import { exportPerson } from './exports/export-person'
import { serveHealth } from './health/serve-health'
import { allowOrigins } from './http/allow-origins'
import { answerClientError, trackResponses } from './http/answer-client-error'
import { readBodies } from './http/body'
import { setDeadlines } from './http/call-limits'
import { commonHeaders } from './http/common-headers'
import { compressJson } from './http/compress-json'
import { continueWhenJudged } from './http/expect-continue'
import { answerError, handleErrors } from './http/handle-errors'
import { limitRequests, type RateLimit } from './http/limit-requests'
import { observeRequests } from './http/observe-requests'
import { publicAddress } from './http/public-address'
import { refuseOtherMethods } from './http/refuse-other-methods'
import { requestId } from './http/request-id'
import { serveProblems } from './http/serve-problems'
import { createTakeTurns } from './http/take-turns'
import { drainUnreadBodies } from './http/unread-body'
import { createImage } from './images/create-image'
import { cancelImport } from './imports/cancel-import'
import { createImport } from './imports/create-import'
import { listImportFaults } from './imports/list-import-faults'
import { listImports } from './imports/list-imports'
import { retrieveImport } from './imports/retrieve-import'
import { watchImport } from './imports/watch-import'
import { createLead } from './leads/create-lead'
import { createVisitorLead } from './leads/create-visitor-lead'
import { listLeadHistory } from './leads/list-lead-history'
import { listLeadStatuses } from './leads/list-lead-statuses'
import { listLeads } from './leads/list-leads'
import { retrieveLead } from './leads/retrieve-lead'
import { updateLead } from './leads/update-lead'
import { listNotifications } from './notifications/list-notifications'
import { retrieveNotification } from './notifications/retrieve-notification'
import { retryNotification } from './notifications/retry-notification'
import { retrieveReconciliation } from './reconciliation/retrieve-reconciliation'
import { listAppointments } from './scheduling/list-appointments'
import { listCallbacks } from './scheduling/list-callbacks'
import { scheduleAppointment } from './scheduling/schedule-appointment'
import { scheduleCallback } from './scheduling/schedule-callback'
import { createToken } from './tokens/create-token'
import { listTokens } from './tokens/list-tokens'
import { revokeToken } from './tokens/revoke-token'
import { createUser } from './users/create-user'
import { listUsers } from './users/list-users'
import { removeUser } from './users/remove-user'
import { retrieveUser } from './users/retrieve-user'
import { updateUser } from './users/update-user'
import { createChecks } from './validation/checker'

export interface GatewayOptions {
  clients: Clients
  logger: Logger
  lifecycle: Lifecycle
  metrics: Metrics
  meters?: BatcherMeters
  publicUrl: string | undefined
  trustedProxies: string[]
  timeZone: string
  uploadLimits?: Partial<UploadLimits>
  /** The most bytes of an import. */
  importMaxBytes?: number
  wakeImports?: () => void
  /** Of each token; without it there is none. */
  rateLimit?: RateLimit | undefined
  /** Whose pages may use the API; `*` are all. */
  corsOrigins?: string[]
  /** Whether JSON is compressed. */
  compression?: boolean
  now?: () => number
  /** How long a request may take to arrive, its body included. */
  requestTimeoutMs?: number
  /** How long a request may take to its answer. */
  requestLimitMs?: number
}

const UPLOAD_LIMITS: UploadLimits = { maxPerAccount: 32, idleMs: 30_000, totalMs: 300_000 }

const IMPORT_MAX_BYTES = 512 * 1024 * 1024

// An upload of a file has 5 minutes.
const REQUEST_TIMEOUT_MS = 330_000

const createApp = ({
  logger,
  trustedProxies,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
}: GatewayOptions): FastifyInstance => {
  const app = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    // One logger for all: a child for each request costs more than the few lines that would use it.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    genReqId: requestId,
    bodyLimit: 1024 * 1024,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // In a drain requests on open connections are still answered.
    return503OnClosing: false,
    frameworkErrors: answerError(logger) as never,
    clientErrorHandler: answerClientError as never,
    // Longer than the 60 s of common load balancers, so that it is never us who closes under their next request.
    keepAliveTimeout: 72_000,
    requestTimeout: requestTimeoutMs,
    http: {
      headersTimeout: Math.min(20_000, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5000, requestTimeoutMs),
      // Node's own answer to a missing Host has no body.
      requireHostHeader: false,
    },
  })
  // What a request may be is checked by the operations, after the token and the address (design: Errors); schemas
  // are there for the document. Answers are finished JSON.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  return app
}

/** The gateway's HTTP server with every route; nothing listens yet. */
export const buildGateway = (options: GatewayOptions): FastifyInstance => {
  const { clients, logger, lifecycle, metrics, publicUrl, timeZone, now = Date.now } = options
  const { rateLimit, corsOrigins = [], compression = false } = options
  const addressOf = publicAddress(publicUrl)
  const limits = { ...UPLOAD_LIMITS, ...options.uploadLimits }
  const app = createApp(options)
  if (corsOrigins.length > 0) allowOrigins(app, corsOrigins)
  const methods = refuseOtherMethods(app)
  traceRequests(app)
  setDeadlines(app, options.requestLimitMs)
  trackResponses(app)
  handleErrors(app, logger)
  commonHeaders(app, lifecycle)
  drainUnreadBodies(app, lifecycle)
  observeRequests(app, { logger, metrics })
  readBodies(app)
  continueWhenJudged(app)
  serveOpenApi(app, { publicUrl, addressOf, events: WEBHOOKS })

  const verifyToken = createTokenVerifier({ verify: clients.verifyToken, now })
  const authenticate = createAuthenticate(app, verifyToken, rateLimit && limitRequests(app, rateLimit))
  const dependencies: Dependencies = {
    clients,
    authenticate,
    takeTurns: createTakeTurns(options.meters),
    createCheck: createChecks(timeZone),
    uploads: createUploadDoor(limits),
    fileIdleMs: limits.idleMs,
    importMaxBytes: options.importMaxBytes ?? IMPORT_MAX_BYTES,
    wakeImports: options.wakeImports ?? (() => undefined),
    addressOf,
    timeZone,
    draining: lifecycle.signal,
    now,
    logger,
  }
  app.register(async (scope) => {
    if (compression) await compressJson(scope)
    registerRoutes(scope, dependencies)
  })
  app.register(async (scope) => {
    if (compression) await compressJson(scope)
    readMultipart(scope)
    attachFile(scope, dependencies)
    createImage(scope, dependencies)
  })
  app.register(async (scope) => {
    if (compression) await compressJson(scope)
    createImport(scope, dependencies)
  })
  app.register(async (scope) => {
    serveHealth(scope, { checks: clients.checks, lifecycle })
    serveProblems(scope)
    serveConsole(scope)
    serveDocs(scope, publicUrl)
  })
  methods.refuse()
  return app
}

const registerRoutes = (app: FastifyInstance, dependencies: Dependencies): void => {
  listLeads(app, dependencies)
  createLead(app, dependencies)
  listLeadStatuses(app, dependencies)
  retrieveLead(app, dependencies)
  updateLead(app, dependencies)
  scheduleAppointment(app, dependencies)
  scheduleCallback(app, dependencies)
  downloadAttachment(app, dependencies)
  listAppointments(app, dependencies)
  listCallbacks(app, dependencies)
  listAttachments(app, dependencies)

  createVisitorLead(app, dependencies)
  listLeadHistory(app, dependencies)
  eraseLead(app, dependencies)
  retrieveErasure(app, dependencies)
  exportLead(app, dependencies)
  exportPerson(app, dependencies)
  retrieveAccount(app, dependencies)
  retrieveReconciliation(app, dependencies)
  updateAccount(app, dependencies)
  listUsers(app, dependencies)
  createUser(app, dependencies)
  retrieveUser(app, dependencies)
  updateUser(app, dependencies)
  removeUser(app, dependencies)
  listTokens(app, dependencies)
  createToken(app, dependencies)
  revokeToken(app, dependencies)
  listWebhookEndpoints(app, dependencies)
  createWebhookEndpoint(app, dependencies)
  retrieveWebhookEndpoint(app, dependencies)
  updateWebhookEndpoint(app, dependencies)
  deleteWebhookEndpoint(app, dependencies)
  rotateWebhookSecret(app, dependencies)
  testWebhookEndpoint(app, dependencies)
  recoverWebhookEndpoint(app, dependencies)
  listWebhookEndpointHealth(app, dependencies)
  listDeliveries(app, dependencies)
  retrieveDelivery(app, dependencies)
  retryDelivery(app, dependencies)
  listNotifications(app, dependencies)
  retrieveNotification(app, dependencies)
  retryNotification(app, dependencies)
  listAudit(app, dependencies)
  exportLeads(app, dependencies)
  listImports(app, dependencies)
  retrieveImport(app, dependencies)
  cancelImport(app, dependencies)
  listImportFaults(app, dependencies)
  watchImport(app, dependencies)

  serveAsset(app, dependencies)
}
