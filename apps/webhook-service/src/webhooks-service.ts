import type { WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from './clock'
import { getDelivery } from './deliveries/get-delivery'
import { listDeliveries } from './deliveries/list-deliveries'
import { retryDelivery } from './deliveries/retry-delivery'
import { sendTest } from './deliveries/send-test'
import { createEndpoint } from './endpoints/create-endpoint'
import { deleteEndpoint } from './endpoints/delete-endpoint'
import { getEndpoint } from './endpoints/get-endpoint'
import { listEndpointHealth } from './endpoints/list-endpoint-health'
import { listEndpoints } from './endpoints/list-endpoints'
import { recoverEndpoint } from './endpoints/recover-endpoint'
import { rotateSecret } from './endpoints/rotate-secret'
import { updateEndpoint } from './endpoints/update-endpoint'
import { findHeldEvents } from './events/find-held-events'
import { wellFormed } from './well-formed'

interface Dependencies {
  database: Database
  clock: Clock
  endpointsPerAccount: number
  /** Makes the sender look for what became due, at these endpoints or anywhere. */
  wake: (endpointIds?: number[]) => void
}

/** The gRPC service: one line an operation. */
export const webhooksService = (dependencies: Dependencies): WebhooksServiceImplementation => {
  const each = <Request extends object, Response>(
    operation: (dependencies: Dependencies, request: Request) => Promise<Response>,
  ) =>
    wellFormed((request: Request, { signal }) =>
      operation({ ...dependencies, database: dependencies.database.until(signal) }, request),
    )
  return {
    listEndpoints: each(listEndpoints),
    createEndpoint: each(createEndpoint),
    getEndpoint: each(getEndpoint),
    updateEndpoint: each(updateEndpoint),
    deleteEndpoint: each(deleteEndpoint),
    rotateSecret: each(rotateSecret),
    sendTest: each(sendTest),
    recoverEndpoint: each(recoverEndpoint),
    listEndpointHealth: each(listEndpointHealth),
    listDeliveries: each(listDeliveries),
    getDelivery: each(getDelivery),
    retryDelivery: each(retryDelivery),
    findHeldEvents: each(findHeldEvents),
  }
}
