import type { WebhooksServiceClient } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'

const find = statement<{ id: number; accountName: string; contactEmail: string }>('find-contacts')`
  SELECT id, name AS "accountName", contact_email AS "contactEmail" FROM accounts
  WHERE id = ANY ($1::bigint[]) AND contact_email IS NOT NULL`

/**
 * Makes the round that notifies the contacts of a page of the endpoints that have only failed for 24 hours. It resolves with whether
 * there may be more. webhook-service drops repetitions, of other copies too.
 */
export const createNotifyContacts = (deps: { database: Database; webhooks: WebhooksServiceClient }) => {
  const { database, webhooks } = deps
  let afterEndpointId: number | undefined
  return async (): Promise<boolean> => {
    const { endpoints } = await webhooks.listFailingEndpoints({ afterEndpointId })
    afterEndpointId = endpoints.at(-1)?.endpointId
    const accountIds = endpoints.map(({ accountId }) => accountId)
    const found = await find(database, accountIds)
    const contacts = new Map(found.map(({ id, ...contact }) => [id, contact]))
    for (const { endpointId, accountId } of endpoints) {
      const contact = contacts.get(accountId)
      if (contact) await webhooks.notifyContact({ endpointId, ...contact })
    }
    return endpoints.length > 0
  }
}
