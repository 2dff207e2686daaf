import type { Database } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../ingest/stored-event'
import { statement } from '../statement'

/**
 * Creates the endpoint to which notifications of an account are delivered, unless it exists. It has the account's id, so that each
 * account has one. Messages are not signed: it has no secret.
 */
export const ensureMailbox = statement('ensure-mailbox')`
  INSERT INTO endpoints (id, account_id, url, enabled) OVERRIDING SYSTEM VALUE
  VALUES ($1, $1, 'mailto:', true) ON CONFLICT DO NOTHING`

/** The same for the account of an event, with one statement for each account and process. */
export const createMailboxes = (database: Database): ((event: StoredEvent) => Promise<void>) => {
  const known = new LRUCache<number, true>({ max: 100_000 })
  return async ({ accountId }) => {
    if (known.has(accountId)) return
    await ensureMailbox(database, accountId)
    known.set(accountId, true)
  }
}
