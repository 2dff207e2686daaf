import type { WebhooksServiceClient } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'

type Webhooks = Pick<WebhooksServiceClient, 'listFailingEndpoints' | 'notifyContact'>

const FIND = `
  SELECT id, name AS "accountName", contact_email AS "contactEmail" FROM accounts
  WHERE id = ANY ($1::bigint[]) AND contact_email IS NOT NULL`

/**
 * Makes the round that notifies contacts of endpoints that have only failed for 24 hours. It reads them
 * answer by answer, and resolves with whether there may be more. webhook-service drops what is said twice: copies need not know
 * of each other. An account without a contact is read again in the next round.
 */
export const createNotifyContacts = ({ database, webhooks }: { database: Database; webhooks: Webhooks }) => {
  let afterEndpointId: number | undefined
  return async (): Promise<boolean> => {
    const { endpoints } = await webhooks.listFailingEndpoints({ afterEndpointId })
    afterEndpointId = endpoints.at(-1)?.endpointId
    const found = await database.query<{ id: number; accountName: string; contactEmail: string }>({
      name: 'find-contacts',
      text: FIND,
      values: [endpoints.map(({ accountId }) => accountId)],
    })
    const contacts = new Map(found.map(({ id, ...contact }) => [id, contact]))
    for (const { endpointId, accountId } of endpoints) {
      const contact = contacts.get(accountId)
      if (contact) await webhooks.notifyContact({ endpointId, ...contact })
    }
    return endpoints.length > 0
  }
}
