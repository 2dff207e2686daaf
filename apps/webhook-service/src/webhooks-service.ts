import { WebhooksServiceDefinition, type WebhooksServiceImplementation } from '@leadwire/contracts'
import { actorOfCall, answerOnce, type Codec } from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { validateRequest } from './arguments'
import { exportLeadEvents } from './deliveries/export-lead-events'
import { listDeliveries } from './deliveries/list-deliveries'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint } from './deliveries/test-webhook-endpoint'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { urlViolation } from './endpoints/endpoint-row'
import { recoverWebhookEndpoint } from './endpoints/replay/recover-webhook-endpoint'
import { replayWebhookEndpoint } from './endpoints/replay/replay-webhook-endpoint'
import { cancelReplay, retrieveReplay } from './endpoints/replay/replays'
import { rotateWebhookSecret } from './endpoints/secrets/rotate-webhook-secret'
import { holdAccount } from './endpoints/state/hold-account'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import {
  deleteWebhookEndpoint,
  listWebhookEndpointHealth,
  listWebhookEndpoints,
  retrieveWebhookEndpoint,
} from './endpoints/webhook-endpoints'
import { listEvents } from './event-log/list-events'
import type { LogWatch } from './event-log/watch-logs'
import { findStoredEvents } from './ingest/find-stored-events'
import { listNotifications, retrieveNotification, retryNotification } from './notifications/notifications'
import { listFailingEndpoints, notifyContact } from './notifications/notify-contact'
import type { Dependencies, Loop } from './operation'
import { check } from './reconciliation/check'
import { eraseLeadEvents } from './removal/erase-lead-events'
import { removeAccount, removeLeadEvents } from './removal/remove-events'
import { withIdempotencyKey } from './with-idempotency-key'

type Context = Pick<CallContext, 'signal' | 'metadata' | 'header'>

/** The gRPC service: one line an operation. `checkUrl` resolves with why the egress guard refuses a URL. */
export const webhooksService = (
  dependencies: Dependencies,
  checkUrl: (url: string) => Promise<string | undefined>,
  logs: LogWatch,
): WebhooksServiceImplementation => {
  // With a codec of its response an operation runs once for each Idempotency-Key. `changes` is the database that it changes.
  const serve =
    <Request extends object, Response>(
      run: (dependencies: Dependencies, request: Request) => Promise<Response>,
      response?: Codec<Response>,
      changes: 'database' | 'notifications' = 'database',
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      validateRequest(request)
      const { signal, metadata } = context
      const database = dependencies.database.until(signal)
      const notifications = dependencies.notifications.until(signal)
      const woken = new Set<Loop>()
      // After the commit: a poll before it would find nothing.
      const wake = (loop: Loop) => void woken.add(loop)
      const given = { ...dependencies, database, notifications, actor: actorOfCall(metadata), wake }
      const once = { ...given, database: given[changes], underKey: withIdempotencyKey, response }
      const answer = await answerOnce(context, once, (tx) => run({ ...given, [changes]: tx }, request))
      for (const loop of woken) dependencies.wake(loop)
      return answer
    }
  // Before the transaction: a silent name server would hold its connection.
  const serveUrl =
    <Request extends { url?: string | undefined }, Response>(
      run: (dependencies: Dependencies, request: Request) => Promise<Response>,
      response?: Codec<Response>,
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const { url = '' } = request
      const refusal = urlViolation(url) ? undefined : await checkUrl(url)
      return serve((given, asked: Request) => run({ ...given, refusal }, asked), response)(request, context)
    }
  const { methods } = WebhooksServiceDefinition
  return {
    listWebhookEndpoints: serve(listWebhookEndpoints),
    createWebhookEndpoint: serveUrl(createWebhookEndpoint, methods.createWebhookEndpoint.responseType),
    retrieveWebhookEndpoint: serve(retrieveWebhookEndpoint),
    updateWebhookEndpoint: serveUrl(updateWebhookEndpoint),
    deleteWebhookEndpoint: serve(deleteWebhookEndpoint),
    rotateWebhookSecret: serve(rotateWebhookSecret, methods.rotateWebhookSecret.responseType),
    testWebhookEndpoint: serve(testWebhookEndpoint, methods.testWebhookEndpoint.responseType),
    recoverWebhookEndpoint: serve(recoverWebhookEndpoint, methods.recoverWebhookEndpoint.responseType),
    replayWebhookEndpoint: serve(replayWebhookEndpoint, methods.replayWebhookEndpoint.responseType),
    retrieveReplay: serve(retrieveReplay),
    cancelReplay: serve(cancelReplay),
    listWebhookEndpointHealth: serve(listWebhookEndpointHealth),
    listDeliveries: serve(listDeliveries),
    retrieveDelivery: serve(retrieveDelivery),
    retryDelivery: serve(retryDelivery, methods.retryDelivery.responseType),
    listNotifications: serve(listNotifications),
    retrieveNotification: serve(retrieveNotification),
    retryNotification: serve(retryNotification, methods.retryNotification.responseType, 'notifications'),
    listFailingEndpoints: serve(listFailingEndpoints),
    notifyContact: serve(notifyContact),
    findStoredEvents: serve(findStoredEvents),
    check: serve(check),
    listEvents: serve(listEvents),
    watchLogs: (_request, { signal }) => logs.watch(signal),
    eraseLeadEvents: serve(eraseLeadEvents),
    exportLeadEvents: serve(exportLeadEvents),
    holdAccount: serve(holdAccount),
    removeLeadEvents: serve(removeLeadEvents),
    removeAccount: serve(removeAccount),
  }
}
