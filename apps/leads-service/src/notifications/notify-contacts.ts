import type { WebhooksServiceClient } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'

const find = statement<{ id: number; accountName: string; contactEmail: string }>('find-contacts')`
  SELECT id, name AS "accountName", contact_email AS "contactEmail" FROM accounts
  WHERE id = ANY ($1::bigint[]) AND contact_email IS NOT NULL`

/**
 * Makes the function that runs a round. A round notifies the contacts of accounts with failing endpoints. An
 * endpoint is failing if all its attempts have failed for 24 hours. A round reads one page of failing
 * endpoints, and resolves with whether there may be more. webhook-service ignores repeated notifications,
 * also from other copies of this service.
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
