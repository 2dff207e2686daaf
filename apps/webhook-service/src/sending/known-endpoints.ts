import { type Database, gather } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../events/stored-event'

const KNOWN_AT_MOST = 500_000
/** Those that are deleted, or that another copy made, are seen after this long. */
const KNOWN_FOR_MS = 60_000

/**
 * Which endpoints an account has and what they subscribe to, as far as this process has seen. It decides for how many deliveries room is made, and
 * how many events are stored together: where it is wrong, a delivery waits to be claimed, or a batch is split.
 */
export const createKnownEndpoints = (database: Database) => {
  const ofAccount = new LRUCache<number, Map<number, Set<string>>>({
    maxSize: KNOWN_AT_MOST,
    sizeCalculation: ({ size }) => size + 1,
    ttl: KNOWN_FOR_MS,
  })

  const lookUp = gather({
    send: async (accountIds: number[]) => {
      const rows = await database.query<{ id: number; account_id: number; events: string[] }>({
        name: 'endpoints-of-accounts',
        text: 'SELECT id, account_id, events FROM endpoints WHERE account_id = ANY ($1) AND deleted_at IS NULL',
        values: [accountIds],
      })
      const found = new Map(accountIds.map((accountId) => [accountId, new Map<number, Set<string>>()]))
      for (const { id, account_id, events } of rows) found.get(account_id)!.set(id, new Set(events))
      for (const [accountId, endpointIds] of found) ofAccount.set(accountId, endpointIds)
      return accountIds.map((accountId) => found.get(accountId)!)
    },
    maxBatch: 1000,
    maxInFlight: 2,
    maxQueued: 20_000,
  })

  const receiving = async ({ accountId, kind }: StoredEvent): Promise<number[]> => {
    const endpoints = ofAccount.get(accountId) ?? (await lookUp(accountId))
    return [...endpoints].filter(([, kinds]) => kinds.has(kind)).map(([id]) => id)
  }

  return {
    /** How many endpoints an event goes to. */
    count: async (event: StoredEvent): Promise<number> => (await receiving(event)).length,
    /** What is known of an account was wrong: it is looked up anew. */
    forget: (accountId: number): void => void ofAccount.delete(accountId),
    /** How many deliveries these events will make for which endpoints. */
    wantedBy: async (events: StoredEvent[]): Promise<Map<number, number>> => {
      const wanted = new Map<number, number>()
      for (const endpointIds of await Promise.all(events.map(receiving)))
        for (const endpointId of endpointIds) wanted.set(endpointId, (wanted.get(endpointId) ?? 0) + 1)
      return wanted
    },
    /** Takes in what the fan-out of events was. */
    learn: (events: StoredEvent[], deliveries: { eventId: string; endpointId: number }[]): void => {
      const byId = new Map(events.map((event) => [event.id, event]))
      for (const { eventId, endpointId } of deliveries) {
        const { accountId, kind } = byId.get(eventId)!
        const known = ofAccount.get(accountId)
        if (known) known.set(endpointId, (known.get(endpointId) ?? new Set()).add(kind))
      }
    },
  }
}

export type KnownEndpoints = ReturnType<typeof createKnownEndpoints>
