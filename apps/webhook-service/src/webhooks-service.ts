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
import { wellFormed } from './well-formed'

/** The gRPC service: one line an operation. `wake` makes the sender look for what became due, there or anywhere. */
export const webhooksService = (dependencies: {
  database: Database
  clock: Clock
  endpointsPerAccount: number
  wake: (endpointIds?: number[]) => void
}): WebhooksServiceImplementation => {
  const { database } = dependencies
  return {
    listEndpoints: wellFormed((request) => listEndpoints(database, request)),
    createEndpoint: wellFormed((request) => createEndpoint(dependencies, request)),
    getEndpoint: wellFormed((request) => getEndpoint(database, request)),
    updateEndpoint: wellFormed((request) => updateEndpoint(dependencies, request)),
    deleteEndpoint: wellFormed((request) => deleteEndpoint(database, request)),
    rotateSecret: wellFormed((request) => rotateSecret(dependencies, request)),
    sendTest: wellFormed((request) => sendTest(dependencies, request)),
    recoverEndpoint: wellFormed((request) => recoverEndpoint(dependencies, request)),
    listEndpointHealth: wellFormed((request) => listEndpointHealth(dependencies, request)),
    listDeliveries: wellFormed((request) => listDeliveries(database, request)),
    getDelivery: wellFormed((request) => getDelivery(database, request)),
    retryDelivery: wellFormed((request) => retryDelivery(dependencies, request)),
    findHeldEvents: wellFormed((request) => findHeldEvents(database, request)),
  }
}
