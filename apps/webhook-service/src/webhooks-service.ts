import type { Actor, WebhooksServiceImplementation } from '@leadwire/contracts'
import { actorOfCall, type Database } from '@leadwire/service-kit'
import type { Clock } from './clock'
import { listDeliveries } from './deliveries/list-deliveries'
import { retrieveDelivery } from './deliveries/retrieve-delivery'
import { retryDelivery } from './deliveries/retry-delivery'
import { testWebhookEndpoint } from './deliveries/test-webhook-endpoint'
import { createWebhookEndpoint } from './endpoints/create-webhook-endpoint'
import { deleteWebhookEndpoint } from './endpoints/delete-webhook-endpoint'
import { listWebhookEndpointHealth } from './endpoints/list-webhook-endpoint-health'
import { listWebhookEndpoints } from './endpoints/list-webhook-endpoints'
import { recoverWebhookEndpoint } from './endpoints/recover-webhook-endpoint'
import { retrieveWebhookEndpoint } from './endpoints/retrieve-webhook-endpoint'
import { rotateWebhookSecret } from './endpoints/rotate-webhook-secret'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import { findHeldEvents } from './events/find-held-events'
import { listNotifications } from './notifications/list-notifications'
import { retrieveNotification } from './notifications/retrieve-notification'
import { retryNotification } from './notifications/retry-notification'
import { checkWellFormed } from './well-formed'

interface Dependencies {
  database: Database
  /** The same for notifications. */
  notifications: Database
  clock: Clock
  endpointsPerAccount: number
  /** Makes the sender look for what became due, at these endpoints or anywhere. */
  wake: (endpointIds?: number[]) => void
  /** The same for notifications. */
  wakeNotifier: (endpointIds: number[]) => void
}

interface Context {
  signal: AbortSignal
  metadata: Parameters<typeof actorOfCall>[0]
}

/** The gRPC service: one line an operation. */
export const webhooksService = (dependencies: Dependencies): WebhooksServiceImplementation => {
  const each =
    <Request extends object, Response>(
      operation: (
        dependencies: Dependencies & { actor: Actor | undefined },
        request: Request,
      ) => Promise<Response>,
    ) =>
    async (request: Request, { signal, metadata }: Context): Promise<Response> => {
      checkWellFormed(request)
      const actor = actorOfCall(metadata)
      const database = dependencies.database.until(signal)
      const notifications = dependencies.notifications.until(signal)
      return operation({ ...dependencies, database, notifications, actor }, request)
    }
  return {
    listWebhookEndpoints: each(listWebhookEndpoints),
    createWebhookEndpoint: each(createWebhookEndpoint),
    retrieveWebhookEndpoint: each(retrieveWebhookEndpoint),
    updateWebhookEndpoint: each(updateWebhookEndpoint),
    deleteWebhookEndpoint: each(deleteWebhookEndpoint),
    rotateWebhookSecret: each(rotateWebhookSecret),
    testWebhookEndpoint: each(testWebhookEndpoint),
    recoverWebhookEndpoint: each(recoverWebhookEndpoint),
    listWebhookEndpointHealth: each(listWebhookEndpointHealth),
    listDeliveries: each(listDeliveries),
    retrieveDelivery: each(retrieveDelivery),
    retryDelivery: each(retryDelivery),
    listNotifications: each(listNotifications),
    retrieveNotification: each(retrieveNotification),
    retryNotification: each(retryNotification),
    findHeldEvents: each(findHeldEvents),
  }
}
