export interface DueEndpoint {
  endpointId: number
  accountId: number
  /** When its first delivery is due, in milliseconds since 1970. */
  dueAt: number
}

/** What this process knows of when endpoints have something due. It may be wrong until the next look. */
export const createDueEndpoints = () => {
  // In the order in which they became known, so that who was served goes to the end.
  const endpoints = new Map<number, DueEndpoint>()
  return {
    add: (found: DueEndpoint): void => {
      const known = endpoints.get(found.endpointId)
      if (!known || found.dueAt < known.dueAt) endpoints.set(found.endpointId, found)
    },
    remove: (endpointId: number): void => void endpoints.delete(endpointId),
    /** Those of these accounts that are due by `now`. */
    of: (accountIds: Set<number>, now: number): number[] =>
      [...endpoints.values()]
        .filter(({ accountId, dueAt }) => dueAt <= now && accountIds.has(accountId))
        .map(({ endpointId }) => endpointId),
    /** The endpoints due by `now`, by their accounts, and the time at which the next one is. */
    at: (now: number): { due: number[][]; next: number } => {
      const due = new Map<number, number[]>()
      let next = Number.POSITIVE_INFINITY
      for (const { endpointId, accountId, dueAt } of endpoints.values()) {
        const ofAccount = due.get(accountId)
        if (dueAt > now) next = Math.min(next, dueAt)
        else if (ofAccount) ofAccount.push(endpointId)
        else due.set(accountId, [endpointId])
      }
      return { due: [...due.values()], next }
    },
  }
}
