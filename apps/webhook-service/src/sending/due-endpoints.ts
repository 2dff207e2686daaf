/** What this process knows of when endpoints have something due. It may be wrong for as long as one look apart. */
export const createDueEndpoints = () => {
  // In the order in which they became known, so that who was served goes to the end.
  const dueAt = new Map<number, number>()
  return {
    /** Times in milliseconds since 1970. */
    add: (endpointId: number, at: number): void => {
      const known = dueAt.get(endpointId)
      if (known === undefined || at < known) dueAt.set(endpointId, at)
    },
    remove: (endpointId: number): void => void dueAt.delete(endpointId),
    isDue: (endpointId: number, now: number): boolean => (dueAt.get(endpointId) ?? Infinity) <= now,
    /** The endpoints due by `now`, and the time the next one is. */
    at: (now: number): { due: number[]; next: number | undefined } => {
      const due: number[] = []
      let next: number | undefined
      for (const [endpointId, at] of dueAt) {
        if (at <= now) due.push(endpointId)
        else if (next === undefined || at < next) next = at
      }
      return { due, next }
    },
  }
}

export type DueEndpoints = ReturnType<typeof createDueEndpoints>
