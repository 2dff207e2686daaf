import { createChecks } from '@leadwire/requests'
import {
  type BatcherMeters,
  type Lifecycle,
  type Logger,
  type Metrics,
  traceRequests,
} from '@leadwire/service-kit'
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify'
import { retrieveAccount, updateAccount } from './account/account'
import { listAudit } from './account/list-audit'
import { retrieveReconciliation } from './account/retrieve-reconciliation'
import { createAdmission } from './admission/admission'
import { createRateLimits } from './admission/rate-limits'
import { setDeadlines } from './api/call-limits'
import type { Dependencies } from './api/operation'
import { createAuthenticate, createTokenVerifier } from './auth/authenticate'
import { createCookies } from './auth/cookies'
import { createFindSender } from './auth/own-pages'
import { GRACE_MS } from './body/collect-body'
import { readBodies } from './body/parse-body'
import { acceptMultipart, readMultipart } from './body/read-multipart'
import { createUploadLimiter, type UploadLimits } from './body/receive-upload'
import { continueWhenChecked, drainUnreadBodies } from './body/unread-body'
import { captureLead } from './capture/capture-lead'
import { retrieveStamp } from './capture/stamp'
import type { Clients } from './clients/connect-clients'
import type { GatewayConfig } from './config'
import { listDeliveries, retrieveDelivery, retryDelivery } from './deliveries/deliveries'
import { listWebhookEndpointHealth } from './endpoints/list-webhook-endpoint-health'
import { createPortalLink, openPortalLink } from './endpoints/portal'
import { recoverWebhookEndpoint } from './endpoints/recover-webhook-endpoint'
import { cancelReplay, replayWebhookEndpoint, retrieveReplay } from './endpoints/replay-webhook-endpoint'
import { retrieveWebhookSources } from './endpoints/retrieve-webhook-sources'
import { rotateWebhookSecret } from './endpoints/rotate-webhook-secret'
import { testWebhookEndpoint } from './endpoints/test-webhook-endpoint'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  retrieveWebhookEndpoint,
  updateWebhookEndpoint,
} from './endpoints/webhook-endpoints'
import { listEvents } from './events/list-events'
import { exportLeads } from './exports/export-leads'
import { retrieveFigures } from './figures/retrieve-figures'
import { attachFile } from './files/attach-file'
import { createImage } from './files/create-image'
import { downloadAttachment, listAttachments } from './files/download-attachment'
import { serveAsset } from './files/serve-asset'
import { serveHealth } from './health/serve-health'
import { allowOrigins, answerCapturePreflights } from './http/allow-origins'
import { recordMethods } from './http/allowed-methods'
import { answerClientError, trackResponses } from './http/answer-client-error'
import { commonHeaders, requestId } from './http/common-headers'
import { compressJson } from './http/compress-json'
import { createHttpServer } from './http/create-http-server'
import { answerError, handleErrors } from './http/handle-errors'
import { observeRequests } from './http/observe-requests'
import { createFindAddress, findConfiguredAddress } from './http/public-address'
import { readForwardedHeaders } from './http/read-forwarded-headers'
import { createImport } from './imports/create-import'
import { downloadFailedRows } from './imports/download-failed-rows'
import { cancelImport, listImportErrors, listImports, retrieveImport } from './imports/imports'
import { watchImport } from './imports/watch-import'
import { createLead, createVisitorLead } from './leads/create-lead'
import { listLeadDuplicates, markLeadDuplicate } from './leads/lead-duplicates'
import { listLeadHistory, listLeadStatuses, retrieveLead, retrieveManagedLead } from './leads/leads'
import { listLeads } from './leads/list-leads'
import { listManagedLeads } from './leads/list-managed-leads'
import { addNote, deleteNote, listNotes, updateNote } from './leads/notes'
import { updateLead } from './leads/update-lead'
import { updateLeadsInBulk } from './leads/update-leads-in-bulk'
import { updateManagedLead } from './leads/update-managed-lead'
import { createLeadBatch, upsertLead } from './leads/upsert-leads'
import { listNotifications, retrieveNotification, retryNotification } from './notifications/notifications'
import { serveOpenApi } from './openapi/serve-openapi'
import { eraseLead, retrieveErasure } from './privacy/erasures'
import { exportLead, exportPerson } from './privacy/export-lead'
import { endLeadRetention, retrieveLeadRetention, setLeadRetention } from './privacy/lead-retention'
import { createUserCalendar, readCalendar, revokeUserCalendar } from './scheduling/calendars'
import {
  cancelAppointment,
  cancelCallback,
  rescheduleAppointment,
  rescheduleCallback,
} from './scheduling/change-scheduled'
import { listSchedule } from './scheduling/list-schedule'
import { listAppointments, listCallbacks, scheduleAppointment, scheduleCallback } from './scheduling/schedule'
import { createIdentityProvider } from './sign-in/identity-provider'
import { retrieveMe } from './sign-in/me'
import {
  createSession,
  endMySession,
  endUserSessions,
  listMySessions,
  listUserSessions,
} from './sign-in/sessions'
import { requestSignInLink } from './sign-in/sign-in-links'
import { retrieveSignInMethods } from './sign-in/sign-in-methods'
import { singleSignOn } from './sign-in/single-sign-on'
import { serveSite } from './site/serve-pages'
import { createToken } from './tokens/create-token'
import { listTokens, retrieveOwnToken, revokeToken } from './tokens/tokens'
import { createUser, inviteUser, listUsers, removeUser, retrieveUser, updateUser } from './users/users'
import { deleteView, listViews, saveView } from './users/views'

export interface GatewayOptions {
  config: GatewayConfig
  clients: Clients
  logger: Logger
  lifecycle: Lifecycle
  metrics: Metrics
  meters?: BatcherMeters
  wakeImports?: () => void
  /** Returns the time of a monotonic clock, in milliseconds. Replaces `performance.now`. */
  now?: () => number
  uploadLimits?: Partial<UploadLimits>
  /** How long a request may take to arrive, including its body. */
  requestTimeoutMs?: number
  /** How long a request may take from the arrival of its headers to its response. */
  requestLimitMs?: number
  /** How long a client may read no byte of its response. */
  writeStallMs?: number | undefined
}

const UPLOAD_LIMITS: UploadLimits = { graceMs: GRACE_MS, idleMs: 30_000, totalMs: 300_000 }

const ROUTER_OPTIONS = { ignoreTrailingSlash: true, maxParamLength: 16_384 }

// Longer than the 5 minutes that an upload may take, so that a slow upload reaches its own limit first.
const REQUEST_TIMEOUT_MS = 330_000

// Longer than the 60 s of common load balancers, so that the gateway does not close a connection on which a
// load balancer is sending its next request.
const KEEP_ALIVE_MS = 72_000

const createApp = ({ config, logger, requestTimeoutMs, writeStallMs }: GatewayOptions): FastifyInstance => {
  const { TRUSTED_PROXIES: proxies } = config
  const requestTimeout = requestTimeoutMs ?? REQUEST_TIMEOUT_MS
  const app = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    // Uses one logger for all requests instead of a child logger for each, because few requests log a line.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: proxies.length > 0 ? proxies : false,
    genReqId: requestId,
    bodyLimit: 1024 * 1024,
    routerOptions: ROUTER_OPTIONS,
    // Requests that arrive on open connections during a drain are still served.
    return503OnClosing: false,
    frameworkErrors: answerError(logger) as never,
    clientErrorHandler: answerClientError as never,
    serverFactory: (handle) =>
      createHttpServer(handle, {
        writeStallMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        requestTimeout,
        headersTimeout: Math.min(20_000, requestTimeout),
        connectionsCheckingInterval: Math.min(5000, requestTimeout),
        // `handleErrors` refuses a missing Host header, because Node's own response has no problem document.
        requireHostHeader: false,
      }),
  })
  // Turns off Fastify's validation. Operations validate requests themselves, because the token and the record
  // in the path are checked before the fields. Fastify's schemas serve only the OpenAPI document. Handlers
  // return JSON.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  return app
}

/** Builds the gateway's HTTP server with all routes. The server does not listen yet. */
export const buildGateway = (options: GatewayOptions): FastifyInstance => {
  const { config, clients, logger, lifecycle, metrics } = options
  const findAddress = createFindAddress(config.PUBLIC_URL)
  const uploadLimits = { ...UPLOAD_LIMITS, ...options.uploadLimits }
  const admission = createAdmission(config.ACCOUNT_MAX_UPLOADS, options.meters)
  const app = createApp(options)
  const { CORS_ORIGINS: origins } = config
  if (config.TRUSTED_PROXIES.length > 0) readForwardedHeaders(app)
  const now = options.now ?? (() => performance.now())
  const limits = createRateLimits(app, config, now)
  answerCapturePreflights(app, async (request, reply) => {
    const { origin = '' } = request.headers
    if (origins.includes('*') || origins.includes(origin)) return false
    await limits.countPreflight(request, reply)
    return clients.isOrigin(origin)
  })
  if (origins.length > 0) allowOrigins(app, origins)
  const misrouted = recordMethods(app, ROUTER_OPTIONS)
  traceRequests(app)
  setDeadlines(app, options.requestLimitMs)
  trackResponses(app)
  handleErrors(app, logger, misrouted)
  commonHeaders(app, lifecycle)
  drainUnreadBodies(app, lifecycle)
  observeRequests(app, logger, metrics)
  readBodies(app, admission, uploadLimits.graceMs)
  continueWhenChecked(app)
  serveOpenApi(app, findConfiguredAddress(config))

  const configuredAddress = findConfiguredAddress(config)
  const cookies = createCookies(configuredAddress)
  const findSender = createFindSender(configuredAddress, findAddress)
  const identityProvider = createIdentityProvider(config, now)
  const verifyToken = createTokenVerifier({ verify: clients.verifyToken, now })
  const dependencies: Dependencies = {
    clients,
    ...createAuthenticate(app, verifyToken, limits, { cookies, findSender }),
    cookies,
    findSender,
    countSignIn: limits.countSignIn,
    identityProviderName: identityProvider?.name,
    verifyToken,
    wrongTokens: limits.wrongTokens,
    countCapture: limits.countCapture,
    captureDaily: config.CAPTURE_DAILY,
    captureDailyBytes: config.CAPTURE_DAILY_BYTES,
    createCheck: createChecks(config.TIME_ZONE),
    admission,
    receiveUpload: createUploadLimiter(admission, uploadLimits),
    importMaxBytes: config.IMPORT_MAX_BYTES,
    webhookSources: config.WEBHOOK_SOURCE_ADDRESSES,
    wakeImports: options.wakeImports ?? (() => undefined),
    configuredAddress,
    findAddress,
    timeZone: config.TIME_ZONE,
    draining: lifecycle.signal,
    logger,
  }
  // Routes that read their bodies in the same way share a scope.
  const addRoutes = (add: (scope: FastifyInstance) => void) =>
    app.register(async (scope) => {
      if (config.COMPRESSION) await compressJson(scope)
      add(scope)
    })
  addRoutes((scope) => {
    for (const [operationId, add] of Object.entries(OPERATIONS)) add(scope, dependencies, operationId)
  })
  addRoutes((scope) => {
    readMultipart(scope)
    attachFile(scope, dependencies, 'attachFile')
    createImage(scope, dependencies, 'createImage')
  })
  addRoutes((scope) => {
    acceptMultipart(scope)
    captureLead(scope, dependencies)
    retrieveStamp(scope, dependencies)
  })
  if (identityProvider) {
    const { countSingleSignOn } = limits
    const createInAccountId = config.OIDC_CREATE_USERS
    const options = { ...dependencies, identityProvider, countSingleSignOn, createInAccountId }
    addRoutes((scope) => singleSignOn(scope, options))
  }
  addRoutes((scope) => createImport(scope, dependencies, 'createImport'))
  app.register(async (scope) => serveHealth(scope, { checks: clients.checks, lifecycle }))
  app.register(serveSite)
  return app
}

// The keys are the operation ids of the OpenAPI document, which lists the operations in this order.
const OPERATIONS = {
  listLeads,
  createLead,
  listLeadStatuses,
  retrieveLead,
  updateLead,
  scheduleAppointment,
  scheduleCallback,
  downloadAttachment,
  listAppointments,
  listCallbacks,
  listAttachments,
  rescheduleAppointment,
  cancelAppointment,
  rescheduleCallback,
  cancelCallback,
  listSchedule,
  readCalendar,
  listManagedLeads,
  createVisitorLead,
  createLeadBatch,
  updateLeadsInBulk,
  listViews,
  saveView,
  deleteView,
  upsertLead,
  retrieveManagedLead,
  updateManagedLead,
  listLeadDuplicates,
  markLeadDuplicate,
  listLeadHistory,
  listNotes,
  addNote,
  updateNote,
  deleteNote,
  eraseLead,
  retrieveErasure,
  exportLead,
  exportPerson,
  retrieveLeadRetention,
  setLeadRetention,
  endLeadRetention,
  retrieveAccount,
  retrieveReconciliation,
  retrieveFigures,
  updateAccount,
  listUsers,
  createUser,
  retrieveUser,
  updateUser,
  removeUser,
  inviteUser,
  listUserSessions,
  endUserSessions,
  createUserCalendar,
  revokeUserCalendar,
  listTokens,
  createToken,
  revokeToken,
  retrieveOwnToken,
  retrieveSignInMethods,
  requestSignInLink,
  createSession,
  retrieveMe,
  listMySessions,
  endMySession,
  listWebhookEndpoints,
  createWebhookEndpoint,
  retrieveWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  recoverWebhookEndpoint,
  replayWebhookEndpoint,
  retrieveReplay,
  cancelReplay,
  createPortalLink,
  openPortalLink,
  listWebhookEndpointHealth,
  retrieveWebhookSources,
  listDeliveries,
  retrieveDelivery,
  retryDelivery,
  listEvents,
  listNotifications,
  retrieveNotification,
  retryNotification,
  listAudit,
  exportLeads,
  listImports,
  retrieveImport,
  cancelImport,
  watchImport,
  listImportErrors,
  downloadFailedRows,
  serveAsset,
}
