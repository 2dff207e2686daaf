/** A larger body counts against what may be in hand; smaller ones are bounded by the number of attempts. */
export const LARGE_BODY_BYTES = 16 * 1024

/**
 * The bodies that the attempts of this process send: one buffer for all deliveries of an event, from the beginning of the
 * first attempt to the end of the last.
 */
export const createBodiesInHand = () => {
  const bodies = new Map<string, { body: Buffer; holders: number }>()
  const large = new Set<string>()
  let bytes = 0

  const hold = (eventId: string, body: Buffer): Buffer => {
    const known = bodies.get(eventId)
    if (known) {
      known.holders += 1
      return known.body
    }
    bodies.set(eventId, { body, holders: 1 })
    bytes += body.length
    if (body.length > LARGE_BODY_BYTES) large.add(eventId)
    return body
  }

  const letGo = (eventId: string): void => {
    const known = bodies.get(eventId)!
    known.holders -= 1
    if (known.holders > 0) return
    bodies.delete(eventId)
    large.delete(eventId)
    bytes -= known.body.length
  }

  return {
    /** The buffer that an event's deliveries share: this one, unless there is one already. */
    hold,
    letGo,
    /** Runs `work` with the large bodies that are in hand, which stay so until it has settled. */
    withLarge: async <T>(work: (large: Map<string, Buffer>) => Promise<T>): Promise<T> => {
      const pinned = new Map([...large].map((eventId) => [eventId, bodies.get(eventId)!.body]))
      for (const [eventId, body] of pinned) hold(eventId, body)
      try {
        return await work(pinned)
      } finally {
        for (const eventId of pinned.keys()) letGo(eventId)
      }
    },
    bytes: (): number => bytes,
  }
}

export type BodiesInHand = ReturnType<typeof createBodiesInHand>
