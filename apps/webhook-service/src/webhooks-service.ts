import {
  type Actor,
  CreateWebhookEndpointResponse,
  RecoverWebhookEndpointResponse,
  RetryDeliveryResponse,
  RetryNotificationResponse,
  RotateWebhookSecretResponse,
  TestWebhookEndpointResponse,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import { actorOfCall, answerOnce, type Codec, type Database } from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { holdAccount } from './accounts/hold-account'
import { removeAccount } from './accounts/remove-account'
import { removeLeadEvents } from './accounts/remove-lead-events'
import type { Clock } from './clock'
import { listDeliveries } from './deliveries/list-deliveries'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint } from './deliveries/test-webhook-endpoint'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { deleteWebhookEndpoint } from './endpoints/delete-webhook-endpoint'
import { listFailingEndpoints } from './endpoints/list-failing-endpoints'
import { listWebhookEndpointHealth } from './endpoints/list-webhook-endpoint-health'
import { listWebhookEndpoints } from './endpoints/list-webhook-endpoints'
import { recoverWebhookEndpoint } from './endpoints/recover-webhook-endpoint'
import { retrieveWebhookEndpoint } from './endpoints/retrieve-webhook-endpoint'
import { rotateWebhookSecret } from './endpoints/rotate-webhook-secret'
import type { SecretSealer } from './endpoints/sealed-secrets'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import { eraseLeadEvents } from './erasures/erase-lead-events'
import { findStoredEvents } from './events/find-stored-events'
import { exportLeadEvents } from './exports/export-lead-events'
import { underKey } from './idempotency/under-key'
import { listNotifications } from './notifications/list-notifications'
import { notifyContact } from './notifications/notify-contact'
import { retrieveNotification } from './notifications/retrieve-notification'
import { retryNotification } from './notifications/retry-notification'
import { checkDeliveries } from './reconciliation/check-deliveries'
import { checkEvents, checkNextEvents } from './reconciliation/check-events'
import { checkWellFormed } from './well-formed'

interface Dependencies {
  database: Database
  /** The same for notifications. */
  notifications: Database
  clock: Clock
  sealer: SecretSealer
  endpointsPerAccount: number
  /** Forgets messages that were written to a folder of ours. */
  forgetMessages: (eventIds: string[]) => Promise<void>
  /** How long an endpoint may only fail before it is disabled; infinite: it never is. */
  disableAfterMs: number
  /** How long events and deliveries are kept at least; infinite: for good. */
  keptMs: number
  /** The schedule's longest pause. */
  longestPauseMs: number
  /** For how long deliveries of each kind are claimed. */
  claimMs: { webhooks: number; notifications: number }
  /** Makes the sender look for what became due. */
  wake: () => void
  /** The same for notifications. */
  wakeNotifier: () => void
  /** The same for deliveries that follow an endpoint that was changed. */
  wakeSettling: () => void
  /** The same for recoveries. */
  wakeRecoveries: () => void
}

type Operation<Request, Response> = (
  dependencies: Dependencies & { actor: Actor | undefined },
  request: Request,
) => Promise<Response>

/** The same operation, which calls `wake` when it has committed. */
const waking =
  <Given extends unknown[], Response>(operation: (...given: Given) => Promise<Response>, wake: () => void) =>
  async (...given: Given): Promise<Response> => {
    const response = await operation(...given)
    wake()
    return response
  }

type Context = Pick<CallContext, 'signal' | 'metadata' | 'header'>

/** The gRPC service: one line an operation. */
export const webhooksService = (dependencies: Dependencies): WebhooksServiceImplementation => {
  const each =
    <Request extends object, Response>(operation: Operation<Request, Response>) =>
    async (request: Request, { signal, metadata }: Context): Promise<Response> => {
      checkWellFormed(request)
      const actor = actorOfCall(metadata)
      const database = dependencies.database.until(signal)
      const notifications = dependencies.notifications.until(signal)
      return operation({ ...dependencies, database, notifications, actor }, request)
    }

  // Done once under each Idempotency-Key. `of` names the database that the operation changes.
  const once =
    <Request extends object, Response>(
      operation: Operation<Request, Response>,
      response: Codec<Response>,
      of: 'database' | 'notifications' = 'database',
    ) =>
    async (request: Request, context: Context): Promise<Response> => {
      checkWellFormed(request)
      const actor = actorOfCall(context.metadata)
      const woken: (() => void)[] = []
      const deps = { ...dependencies, underKey, response, database: dependencies[of].until(context.signal) }
      const answer = await answerOnce(context, deps, (database) =>
        operation(
          {
            ...dependencies,
            [of]: database,
            actor,
            // What is to be looked for is there when it is committed.
            wake: () => woken.push(dependencies.wake),
            wakeNotifier: () => woken.push(dependencies.wakeNotifier),
          },
          request,
        ),
      )
      for (const wake of woken) wake()
      return answer
    }
  return {
    listWebhookEndpoints: each(listWebhookEndpoints),
    createWebhookEndpoint: once(createWebhookEndpoint, CreateWebhookEndpointResponse),
    retrieveWebhookEndpoint: each(retrieveWebhookEndpoint),
    updateWebhookEndpoint: waking(each(updateWebhookEndpoint), dependencies.wakeSettling),
    deleteWebhookEndpoint: waking(each(deleteWebhookEndpoint), dependencies.wakeSettling),
    rotateWebhookSecret: once(rotateWebhookSecret, RotateWebhookSecretResponse),
    testWebhookEndpoint: once(testWebhookEndpoint, TestWebhookEndpointResponse),
    recoverWebhookEndpoint: waking(
      once(recoverWebhookEndpoint, RecoverWebhookEndpointResponse),
      dependencies.wakeRecoveries,
    ),
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
    checkNextEvents: each(checkNextEvents),
    checkDeliveries: each(checkDeliveries),
    eraseLeadEvents: each(eraseLeadEvents),
    exportLeadEvents: each(exportLeadEvents),
    holdAccount: waking(each(holdAccount), dependencies.wakeSettling),
    removeLeadEvents: each(removeLeadEvents),
    removeAccount: each(removeAccount),
  }
}
