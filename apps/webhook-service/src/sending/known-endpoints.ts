import type { StoredEvent } from '../events/read-lead-created'
import type { WorkerSession } from './worker-session'

const KNOWN_AT_MOST = 20_000

/**
 * Which endpoints an account has, as far as this process has seen. It only decides for whom room is kept before events
 * are stored: an endpoint it does not know waits to be claimed, one that is gone leaves its room unused.
 */
export const createKnownEndpoints = () => {
  // In the order of their use, so that the first is the one to forget.
  const ofAccount = new Map<number, Set<number>>()

  const remember = (accountId: number, endpointIds: Set<number>) => {
    ofAccount.delete(accountId)
    ofAccount.set(accountId, endpointIds)
    for (const [oldest] of ofAccount) {
      if (ofAccount.size <= KNOWN_AT_MOST) break
      ofAccount.delete(oldest)
    }
  }

  const lookUp = async (session: WorkerSession, accountIds: number[]) => {
    for (const accountId of accountIds) remember(accountId, new Set())
    const rows = await session.query<{ id: number; account_id: number }>({
      name: 'endpoints-of-accounts',
      text: 'SELECT id, account_id FROM endpoints WHERE account_id = ANY ($1) AND deleted_at IS NULL',
      values: [accountIds],
    })
    for (const { id, account_id } of rows) ofAccount.get(account_id)?.add(id)
  }

  return {
    /** How many deliveries these events will make for which endpoints. */
    wantedBy: async (session: WorkerSession, events: StoredEvent[]): Promise<Map<number, number>> => {
      const accountIds = [...new Set(events.map(({ accountId }) => accountId))]
      const strangers = accountIds.filter((accountId) => !ofAccount.has(accountId))
      if (strangers.length > 0) await lookUp(session, strangers)
      const wanted = new Map<number, number>()
      for (const { accountId } of events)
        for (const endpointId of ofAccount.get(accountId) ?? [])
          wanted.set(endpointId, (wanted.get(endpointId) ?? 0) + 1)
      return wanted
    },
    /** Takes in what the fan-out of events was. */
    learn: (events: StoredEvent[], deliveries: { eventId: string; endpointId: number }[]): void => {
      const accountOf = new Map(events.map(({ id, accountId }) => [id, accountId]))
      const found = new Map<number, Set<number>>()
      for (const { eventId, endpointId } of deliveries) {
        const accountId = accountOf.get(eventId)!
        found.set(accountId, (found.get(accountId) ?? new Set()).add(endpointId))
      }
      for (const [accountId, endpointIds] of found) remember(accountId, endpointIds)
    },
  }
}
