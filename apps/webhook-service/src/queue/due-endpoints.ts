import type { DueEndpoint } from './claim'

/** When endpoints have a delivery that is due, as far as this process knows. The next poll corrects it. */
export const createDueEndpoints = () => {
  // By account, the due time of each endpoint. In the order of turns: accounts and endpoints that were served go to the end.
  const accounts = new Map<number, Map<number, number>>()
  return {
    add: ({ endpointId, accountId, dueAt }: DueEndpoint): void => {
      const endpoints = accounts.get(accountId) ?? new Map<number, number>()
      accounts.set(accountId, endpoints)
      endpoints.set(endpointId, Math.min(dueAt, endpoints.get(endpointId) ?? dueAt))
    },
    /** Removes the endpoints that are served now. Answers with the due time of each. */
    take: (served: Map<number, unknown>): Map<number, number> => {
      const taken = new Map<number, number>()
      for (const [accountId, endpoints] of [...accounts]) {
        const ofAccount = [...endpoints].filter(([id]) => served.has(id))
        if (ofAccount.length === 0) continue
        for (const [id, dueAt] of ofAccount) {
          taken.set(id, dueAt)
          endpoints.delete(id)
        }
        accounts.delete(accountId)
        if (endpoints.size > 0) accounts.set(accountId, endpoints)
      }
      return taken
    },
    /** The endpoints due by `now`, by account, and the due time of the next one. */
    at: (now: number): { due: Map<number, number[]>; next: number } => {
      const due = new Map<number, number[]>()
      let next = Number.POSITIVE_INFINITY
      for (const [accountId, endpoints] of accounts) {
        const ofAccount: number[] = []
        for (const [endpointId, dueAt] of endpoints)
          if (dueAt <= now) ofAccount.push(endpointId)
          else next = Math.min(next, dueAt)
        if (ofAccount.length > 0) due.set(accountId, ofAccount)
      }
      return { due, next }
    },
  }
}
