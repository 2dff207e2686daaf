import { createFairQueue, type Database } from '@leadwire/service-kit'
import { statement } from '../statement'

/** A larger body is stored in a batch of its account, and read after its claim. The number of attempts bounds the others. */
export const LARGE_BYTES = 16 * 1024
const BYTES = 64 * 1024 * 1024
const BYTES_OF_ACCOUNT = 16 * 1024 * 1024

const bodyOf = statement<{ body: Buffer }>('large-body')`
  SELECT body FROM events WHERE id = $1 AND erased_at IS NULL`

interface Body {
  bytes: Promise<Buffer>
  length: number
  holders: number
  leave: () => void
}

/** The large bodies that the attempts of this process send: one buffer for all deliveries of an event. */
export const createLargeBodies = (database: Database) => {
  const bodies = new Map<string, Body>()
  // Nothing waits: claims are released instead. The first body of an account always enters.
  const enter = createFairQueue({
    shareOf: (accounts) => Math.min(BYTES_OF_ACCOUNT, BYTES / accounts),
    ...{ maxWaiting: 0, maxWaitMs: 0 },
  })

  const read = async (eventId: string): Promise<Buffer> => {
    const [event] = await bodyOf(database, eventId)
    if (!event) throw new Error('the event was removed or erased')
    return event.body
  }

  return {
    /** Holds the body of an event until `release`. Resolves to undefined while there is no room. */
    hold: async (event: { eventId: string; accountId: number; bodyBytes: number }) => {
      const { eventId, accountId, bodyBytes: length } = event
      const leave = bodies.has(eventId) ? undefined : await enter(accountId, length).catch(() => undefined)
      let body = bodies.get(eventId)
      // Another call may have read the same body meanwhile.
      if (body) leave?.()
      else if (!leave) return undefined
      else {
        body = { bytes: read(eventId), length, holders: 0, leave }
        bodies.set(eventId, body)
      }
      body.holders += 1
      return body
    },
    release: (eventId: string): void => {
      const body = bodies.get(eventId)!
      body.holders -= 1
      if (body.holders > 0) return
      bodies.delete(eventId)
      body.leave()
    },
    bytes: (): number => [...bodies.values()].reduce((sum, { length }) => sum + length, 0),
  }
}
