import {
  type TestWebhookEndpointRequest,
  WebhooksServiceDefinition,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import { answerOnce, type BoundContext, type Codec, readActor } from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { exportLeadEvents } from './deliveries/export-lead-events'
import { listDeliveries } from './deliveries/list-deliveries'
import { listEventReceivers } from './deliveries/list-event-receivers'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint, waitForAttempt } from './deliveries/test-webhook-endpoint'
import { deleteDeadLetters } from './delivery/append/delete-dead-letters'
import { findStoredEvents } from './delivery/append/find-stored-events'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
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
import { listNotifications, retrieveNotification, retryNotification } from './notifications/notifications'
import { listFailingEndpoints, notifyContact } from './notifications/notify-contact'
import type { Dependencies, Loop } from './operation'
import { check } from './reconciliation/check'
import { eraseLeadEvents } from './removal/erase-lead-events'
import { removeAccount, removeLeadEvents } from './removal/remove-events'

type Context = Pick<CallContext, 'signal' | 'metadata' | 'header'>

/**
 * Implements the gRPC service. `checkUrl` resolves with the reason why the egress guard refuses a URL, or
 * with undefined.
 */
export const webhooksService = (
  dependencies: Dependencies,
  {
    checkUrl,
    logs,
    draining,
  }: { checkUrl: (url: string) => Promise<string | undefined>; logs: LogWatch; draining: AbortSignal },
): WebhooksServiceImplementation => {
  // `response` is the codec of the response. If it is given, the operation runs only once for each
  // Idempotency-Key. `changes` names the database that the operation changes.
  const serve =
    <Request extends object, Response>(
      run: (dependencies: Dependencies, request: Request) => Promise<Response>,
      response?: Codec<Response>,
      changes: 'database' | 'notifications' = 'database',
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const { signal, metadata } = context
      const database = dependencies.database.until(signal)
      const notifications = dependencies.notifications.until(signal)
      const woken = new Set<Loop>()
      // Wakes loops only after the commit. An earlier round would not see the changes.
      const wake = (loop: Loop) => void woken.add(loop)
      const given = { ...dependencies, database, notifications, actor: readActor(metadata), wake }
      const once = { ...given, database: given[changes], response }
      const result = await answerOnce(context, once, (tx) => run({ ...given, [changes]: tx }, request))
      for (const loop of woken) dependencies.wake(loop)
      return result
    }
  // Checks the URL before the transaction begins. Otherwise a silent name server would block the database
  // connection of the transaction.
  const serveUrl =
    <Request extends { url?: string | undefined }, Response>(
      run: (dependencies: Dependencies, request: Request) => Promise<Response>,
      response?: Codec<Response>,
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const { url } = request
      const refusal = url === undefined ? undefined : await checkUrl(url)
      const runWithRefusal = (given: Dependencies, sent: Request) => run({ ...given, refusal }, sent)
      return serve(runWithRefusal, response)(request, context)
    }
  const { methods } = WebhooksServiceDefinition
  const storeSample = serve(testWebhookEndpoint, methods.testWebhookEndpoint.responseType)
  // Waits for the attempt after the commit. A call that repeats an Idempotency-Key waits for the attempt of
  // the first call.
  const serveTest = async (request: TestWebhookEndpointRequest, context: CallContext) => {
    const { delivery: stored, filter } = await storeSample(request, context)
    // Lets other calls of the account start, because a slow receiver must not delay them.
    const { leavePlace } = context as BoundContext
    leavePlace()
    const database = dependencies.database.until(context.signal)
    const key = { accountId: request.accountId, deliveryId: stored!.id }
    const { delivery, attempt } = await waitForAttempt(database, key, draining)
    return { delivery, attempt, filter }
  }
  return {
    listWebhookEndpoints: serve(listWebhookEndpoints),
    createWebhookEndpoint: serveUrl(createWebhookEndpoint, methods.createWebhookEndpoint.responseType),
    retrieveWebhookEndpoint: serve(retrieveWebhookEndpoint),
    updateWebhookEndpoint: serveUrl(updateWebhookEndpoint),
    deleteWebhookEndpoint: serve(deleteWebhookEndpoint),
    rotateWebhookSecret: serve(rotateWebhookSecret, methods.rotateWebhookSecret.responseType),
    testWebhookEndpoint: serveTest,
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
    deleteDeadLetters: serve(deleteDeadLetters),
    check: serve(check),
    listEvents: serve(listEvents),
    watchLogs: (_request, { signal }) => logs.watch(signal),
    eraseLeadEvents: serve(eraseLeadEvents),
    exportLeadEvents: serve(exportLeadEvents),
    listEventReceivers: serve(listEventReceivers),
    holdAccount: serve(holdAccount),
    removeLeadEvents: serve(removeLeadEvents),
    removeAccount: serve(removeAccount),
  }
}
