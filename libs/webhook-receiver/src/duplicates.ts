/** Where the ids of accepted requests are kept. */
export interface DuplicateStore {
  /**
   * Notes an id for `ttlSeconds`; false when it was noted already. Both in one step: of two requests at once only one
   * may get true. In Redis that is `SET id 1 NX EX ttl`, in SQL `INSERT … ON CONFLICT DO NOTHING`.
   */
  remember(id: string, ttlSeconds: number): boolean | Promise<boolean>
}

export interface BoundedStore extends DuplicateStore {
  remember(id: string, ttlSeconds: number): boolean
  /** Takes an id back, when handling its payload failed and it shall be sent again. */
  forget(id: string): void
}

/**
 * A store in this process's memory: gone after a restart, and not shared between processes. When it is full the id that
 * came first makes room.
 * @param maxIds how many ids are kept at most
 * @param now the clock; the machine's when absent
 */
export const boundedStore = ({
  maxIds = 10_000,
  now = () => new Date(),
}: {
  maxIds?: number
  now?: () => Date
} = {}): BoundedStore => {
  if (!Number.isInteger(maxIds) || maxIds < 1) throw new TypeError('maxIds must be a positive integer.')
  // A Map keeps the order of insertion: its first key is the oldest.
  const endsAt = new Map<string, number>()
  return {
    remember: (id, ttlSeconds) => {
      const time = now().getTime()
      const known = endsAt.get(id)
      if (known !== undefined && known > time) return false
      endsAt.delete(id)
      if (endsAt.size >= maxIds) endsAt.delete(endsAt.keys().next().value!)
      endsAt.set(id, time + ttlSeconds * 1000)
      return true
    },
    forget: (id) => void endsAt.delete(id),
  }
}
