import type { Database } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../events/stored-event'

// It bears the account's id, so that there is one for each. What a webhook's endpoint needs beside it means nothing here.
const ENSURE = `
  INSERT INTO endpoints (id, account_id, url, enabled, secret) OVERRIDING SYSTEM VALUE
  VALUES ($1, $1, 'mailto:', true, 'messages are not signed') ON CONFLICT DO NOTHING`

/** Makes the endpoint to which notifications of an event's account are delivered, where it is not there yet. */
export const createMailboxes = (database: Database): ((event: StoredEvent) => Promise<void>) => {
  const known = new LRUCache<number, true>({ max: 100_000 })
  return async ({ accountId }) => {
    if (known.has(accountId)) return
    await database.query({ name: 'ensure-mailbox', text: ENSURE, values: [accountId] })
    known.set(accountId, true)
  }
}
