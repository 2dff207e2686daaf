import type { WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from './clock'
import { getDelivery } from './deliveries/get-delivery'
import { listDeliveries } from './deliveries/list-deliveries'
import { retryDelivery } from './deliveries/retry-delivery'
import { createEndpoint } from './endpoints/create-endpoint'
import { deleteEndpoint } from './endpoints/delete-endpoint'
import { getEndpoint } from './endpoints/get-endpoint'
import { listEndpointHealth } from './endpoints/list-endpoint-health'
import { listEndpoints } from './endpoints/list-endpoints'
import { recoverEndpoint } from './endpoints/recover-endpoint'
import { rotateSecret } from './endpoints/rotate-secret'
import { sendTest } from './endpoints/send-test'
import { updateEndpoint } from './endpoints/update-endpoint'
import { findHeldEvents } from './events/find-held-events'

/** The gRPC service: one line an operation. `wake` makes the sender look for what became due, there or anywhere. */
export const webhooksService = (dependencies: {
  database: Database
  clock: Clock
  wake: (endpointIds?: number[]) => void
}): WebhooksServiceImplementation => {
  const { database } = dependencies
  return {
    listEndpoints: (request) => listEndpoints(database, request),
    createEndpoint: (request) => createEndpoint(database, request),
    getEndpoint: (request) => getEndpoint(database, request),
    updateEndpoint: (request) => updateEndpoint(dependencies, request),
    deleteEndpoint: (request) => deleteEndpoint(database, request),
    rotateSecret: (request) => rotateSecret(dependencies, request),
    sendTest: (request) => sendTest(dependencies, request),
    recoverEndpoint: (request) => recoverEndpoint(dependencies, request),
    listEndpointHealth: (request) => listEndpointHealth(dependencies, request),
    listDeliveries: (request) => listDeliveries(database, request),
    getDelivery: (request) => getDelivery(database, request),
    retryDelivery: (request) => retryDelivery(dependencies, request),
    findHeldEvents: (request) => findHeldEvents(database, request),
  }
}
