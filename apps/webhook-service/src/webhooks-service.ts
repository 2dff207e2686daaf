import type { WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { getDelivery } from './deliveries/get-delivery'
import { listDeliveries } from './deliveries/list-deliveries'
import { createEndpoint } from './endpoints/create-endpoint'
import { deleteEndpoint } from './endpoints/delete-endpoint'
import { getEndpoint } from './endpoints/get-endpoint'
import { listEndpoints } from './endpoints/list-endpoints'
import { updateEndpoint } from './endpoints/update-endpoint'
import { findHeldEvents } from './events/find-held-events'

/** The gRPC service: one line an operation. `wake` makes the sender look for what became due. */
export const webhooksService = (dependencies: {
  database: Database
  wake: () => void
}): WebhooksServiceImplementation => {
  const { database } = dependencies
  return {
    listEndpoints: (request) => listEndpoints(database, request),
    createEndpoint: (request) => createEndpoint(database, request),
    getEndpoint: (request) => getEndpoint(database, request),
    updateEndpoint: (request) => updateEndpoint(dependencies, request),
    deleteEndpoint: (request) => deleteEndpoint(database, request),
    listDeliveries: (request) => listDeliveries(database, request),
    getDelivery: (request) => getDelivery(database, request),
    findHeldEvents: (request) => findHeldEvents(database, request),
  }
}
