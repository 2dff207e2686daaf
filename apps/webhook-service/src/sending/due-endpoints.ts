export interface DueEndpoint {
  endpointId: number
  accountId: number
  /** When its first delivery is due, in milliseconds since 1970. */
  dueAt: number
}

/** What this process knows of when endpoints have something due. It may be wrong until the next look. */
export const createDueEndpoints = () => {
  // By account, and of each endpoint when it is due. Both in the order of their turns: who was served goes to the end.
  const accounts = new Map<number, Map<number, number>>()
  return {
    add: ({ endpointId, accountId, dueAt }: DueEndpoint): void => {
      const endpoints = accounts.get(accountId) ?? new Map<number, number>()
      accounts.set(accountId, endpoints)
      endpoints.set(endpointId, Math.min(dueAt, endpoints.get(endpointId) ?? dueAt))
    },
    /** Takes out the endpoints that are served now. Answers with when each of them is due. */
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
    /** The endpoints due by `now`, by their accounts, and the time at which the next one is. */
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
