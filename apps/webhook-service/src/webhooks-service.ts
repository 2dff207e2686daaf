import {
  CreateWebhookEndpointResponse,
  RecoverWebhookEndpointResponse,
  RetryDeliveryResponse,
  RetryNotificationResponse,
  RotateWebhookSecretResponse,
  TestWebhookEndpointResponse,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import { actorOfCall, answerOnce, type Codec } from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { validateRequest } from './arguments'
import { exportLeadEvents } from './deliveries/export-lead-events'
import { listDeliveries } from './deliveries/list-deliveries'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint } from './deliveries/test-webhook-endpoint'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { deleteWebhookEndpoint } from './endpoints/delete-webhook-endpoint'
import { listWebhookEndpointHealth } from './endpoints/list-webhook-endpoint-health'
import { listWebhookEndpoints } from './endpoints/list-webhook-endpoints'
import { recoverWebhookEndpoint } from './endpoints/recovery/recover-webhook-endpoint'
import { retrieveWebhookEndpoint } from './endpoints/retrieve-webhook-endpoint'
import { rotateWebhookSecret } from './endpoints/secrets/rotate-webhook-secret'
import { holdAccount } from './endpoints/state/hold-account'
import { listFailingEndpoints } from './endpoints/state/list-failing-endpoints'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import { findStoredEvents } from './ingest/find-stored-events'
import { listNotifications } from './notifications/list-notifications'
import { notifyContact } from './notifications/notify-contact'
import { retrieveNotification } from './notifications/retrieve-notification'
import { retryNotification } from './notifications/retry-notification'
import type { Dependencies, Loop } from './operation'
import { checkDeliveries } from './reconciliation/check-deliveries'
import { checkEvents } from './reconciliation/check-events'
import { eraseLeadEvents } from './removal/erase-lead-events'
import { removeAccount } from './removal/remove-account'
import { removeLeadEvents } from './removal/remove-lead-events'
import { withIdempotencyKey } from './with-idempotency-key'

type Run<Request, Response> = (dependencies: Dependencies, request: Request) => Promise<Response>
type Context = Pick<CallContext, 'signal' | 'metadata' | 'header'>

/** The gRPC service: one line an operation. */
export const webhooksService = (dependencies: Dependencies): WebhooksServiceImplementation => {
  const each =
    <Request extends object, Response>(run: Run<Request, Response>) =>
    async (request: Request, { signal, metadata }: Context): Promise<Response> => {
      validateRequest(request)
      const database = dependencies.database.until(signal)
      const notifications = dependencies.notifications.until(signal)
      return run({ ...dependencies, database, notifications, actor: actorOfCall(metadata) }, request)
    }

  // Runs once for each Idempotency-Key. `changes` is the database that the operation changes.
  const once =
    <Request extends object, Response>(
      run: Run<Request, Response>,
      response: Codec<Response>,
      changes: 'database' | 'notifications' = 'database',
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      validateRequest(request)
      const { sealer } = dependencies
      const woken = new Set<Loop>()
      const tables = dependencies[changes].until(context.signal)
      const answer = await answerOnce(
        context,
        { database: tables, sealer, underKey: withIdempotencyKey, response },
        (database) =>
          run(
            {
              ...dependencies,
              [changes]: database,
              actor: actorOfCall(context.metadata),
              // After the commit: a poll before it would find nothing.
              wake: (loop) => woken.add(loop),
            },
            request,
          ),
      )
      for (const loop of woken) dependencies.wake(loop)
      return answer
    }
  return {
    listWebhookEndpoints: each(listWebhookEndpoints),
    createWebhookEndpoint: once(createWebhookEndpoint, CreateWebhookEndpointResponse),
    retrieveWebhookEndpoint: each(retrieveWebhookEndpoint),
    updateWebhookEndpoint: each(updateWebhookEndpoint),
    deleteWebhookEndpoint: each(deleteWebhookEndpoint),
    rotateWebhookSecret: once(rotateWebhookSecret, RotateWebhookSecretResponse),
    testWebhookEndpoint: once(testWebhookEndpoint, TestWebhookEndpointResponse),
    recoverWebhookEndpoint: once(recoverWebhookEndpoint, RecoverWebhookEndpointResponse),
    listWebhookEndpointHealth: each(listWebhookEndpointHealth),
    listDeliveries: each(listDeliveries),
    retrieveDelivery: each(retrieveDelivery),
    retryDelivery: once(retryDelivery, RetryDeliveryResponse),
    listNotifications: each(listNotifications),
    retrieveNotification: each(retrieveNotification),
    retryNotification: once(retryNotification, RetryNotificationResponse, 'notifications'),
    listFailingEndpoints: each(listFailingEndpoints),
    notifyContact: each(notifyContact),
    findStoredEvents: each(findStoredEvents),
    checkEvents: each(checkEvents),
    checkDeliveries: each(checkDeliveries),
    eraseLeadEvents: each(eraseLeadEvents),
    exportLeadEvents: each(exportLeadEvents),
    holdAccount: each(holdAccount),
    removeLeadEvents: each(removeLeadEvents),
    removeAccount: each(removeAccount),
  }
}
