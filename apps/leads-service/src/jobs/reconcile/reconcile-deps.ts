import type { Unexplained, WebhooksServiceClient } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'

export interface ReconcileDeps {
  database: Database
  webhooks: Pick<WebhooksServiceClient, 'checkEvents' | 'checkNextEvents' | 'checkDeliveries'>
}

/** What webhook-service found, as it is kept. */
export const findingOf = (error: Omit<Unexplained, 'leadNumber'>): Unexplained => ({
  ...error,
  leadNumber: undefined,
})
