/** Answer 2xx to the first two. `in_progress`: an earlier attempt is still at it, and may fail. */
export type Outcome = 'kept' | 'duplicate' | 'in_progress'

export interface BoundedStore {
  /** Does the work for a `webhook-id` once. Rejects with what `work` throws: the next attempt does it again. */
  once(id: string, work: () => unknown): Promise<Outcome>
}

const DAY_SECONDS = 24 * 60 * 60

/**
 * Remembers in this process's memory for which events the work is done. When it is full, the oldest id makes room.
 * @param rememberSeconds a day is longer than all retries (1 h 51 min) and than an evening without the receiver
 * @param now the clock; the machine's when absent
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
  // A Map keeps the order of insertion: its first key is the oldest.
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
