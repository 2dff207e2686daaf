import type { Database, Transaction } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../events/stored-event'

// It bears the account's id, so that there is one for each. It has no secret: messages are not signed.
const ENSURE = `
  INSERT INTO endpoints (id, account_id, url, enabled) OVERRIDING SYSTEM VALUE
  VALUES ($1, $1, 'mailto:', true) ON CONFLICT DO NOTHING`

/** Makes the endpoint to which notifications of an account are delivered, where it is not there yet. */
export const ensureMailbox = async (database: Transaction, accountId: number): Promise<void> =>
  void (await database.query({ name: 'ensure-mailbox', text: ENSURE, values: [accountId] }))

/** The same of an event's account, asked of the database once. */
export const createMailboxes = (database: Database): ((event: StoredEvent) => Promise<void>) => {
  const known = new LRUCache<number, true>({ max: 100_000 })
  return async ({ accountId }) => {
    if (known.has(accountId)) return
    await ensureMailbox(database, accountId)
    known.set(accountId, true)
  }
}
