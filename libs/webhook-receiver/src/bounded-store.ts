/**
 * The outcome of a webhook. Respond with 2xx to `kept` and `duplicate`, and with 409 to `in_progress`: an
 * earlier attempt is still in progress and may fail.
 */
export type Outcome = 'kept' | 'duplicate' | 'in_progress'

export interface BoundedStore {
  /**
   * Runs `work` once for each `webhook-id`. If `work` throws, rejects with its error, and the next attempt
   * runs `work` again.
   */
  once(id: string, work: () => unknown): Promise<Outcome>
}

const DAY_SECONDS = 24 * 60 * 60

/**
 * Creates a store that remembers, in memory, the ids of the events whose work is done. When the store is
 * full, it forgets the oldest id.
 * @param rememberSeconds a day by default, which outlasts all retries (1 h 51 min) and an outage of some
 * hours
 * @param now the clock, by default the machine's
 */
export const boundedStore = ({
  maxIds = 10_000,
  rememberSeconds = DAY_SECONDS,
  now = () => new Date(),
}: {
  maxIds?: number
  rememberSeconds?: number
  now?: () => Date
} = {}): BoundedStore => {
  if (!Number.isInteger(maxIds) || maxIds < 1) throw new TypeError('maxIds must be a positive integer.')
  const inProgress = new Set<string>()
  // A Map keeps the order of insertion, so its first key is the oldest.
  const keptUntil = new Map<string, number>()
  return {
    once: async (id, work) => {
      if (inProgress.has(id)) return 'in_progress'
      if ((keptUntil.get(id) ?? 0) > now().getTime()) return 'duplicate'
      inProgress.add(id)
      try {
        await work()
      } finally {
        inProgress.delete(id)
      }
      keptUntil.delete(id)
      if (keptUntil.size >= maxIds) keptUntil.delete(keptUntil.keys().next().value!)
      keptUntil.set(id, now().getTime() + rememberSeconds * 1000)
      return 'kept'
    },
  }
}
