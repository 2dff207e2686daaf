/**
 * What became of the work for an event. `kept`: it is done. `duplicate`: it was done before. `in_progress`: an earlier
 * attempt is still at it, and may fail. Answer 2xx to the first two, and another status to the last.
 */
export type Outcome = 'kept' | 'duplicate' | 'in_progress'

export interface BoundedStore {
  /**
   * Does the work for an event unless it is done already. Rejects with what `work` throws; the event is not remembered
   * then, and its next attempt does the work again.
   * @param id `webhook-id`
   */
  once(id: string, work: () => unknown): Promise<Outcome>
}

const DAY_SECONDS = 24 * 60 * 60

/**
 * Remembers in this process's memory for which events the work is done: not after a restart, and not for other
 * processes. When it is full, the oldest id makes room.
 * @param maxIds how many ids are remembered at most
 * @param rememberSeconds for how long. A day is longer than the whole schedule of retries (1 h 51 min) and than a
 *   receiver that is unavailable for an evening.
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
