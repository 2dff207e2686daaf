import { createFairQueue, type Database, statement } from '@leadwire/service-kit'

/**
 * A body with more bytes than this is large. An event with a large body is stored in a separate batch, and an
 * attempt reads a large body only after the claim. Small bodies need no memory limit, because the number of
 * attempts in flight is limited.
 */
export const LARGE_BYTES = 16 * 1024
/**
 * The maximum number of bytes of large bodies in memory, for all accounts together (`BYTES`) and for one
 * account (`BYTES_PER_ACCOUNT`).
 */
const BYTES = 64 * 1024 * 1024
const BYTES_PER_ACCOUNT = 16 * 1024 * 1024

const selectBody = statement<{ body: Buffer }, BodyKey>('large-body')`
  SELECT CASE WHEN :withAttributes::boolean THEN coalesce(body_with_attributes, body) ELSE body END AS body
  FROM events WHERE id = :eventId AND erased_at IS NULL`

/** Resolves with undefined if the event was removed or erased. */
export type LargeBody = Promise<Buffer | undefined>

interface Body {
  bytes: LargeBody
  length: number
  /** How many deliveries use the body. */
  holders: number
  /** Frees the room that the body takes in memory. */
  leave: () => void
}

type BodyKey = { eventId: string; withAttributes: boolean }

const renderKey = ({ eventId, withAttributes }: BodyKey) => `${eventId} ${withAttributes}`

/**
 * Creates the in-memory store of the large bodies that attempts of this process send. All deliveries of an
 * event with the same body share one buffer.
 */
export const createLargeBodies = (database: Database) => {
  const bodies = new Map<string, Body>()
  // A body that finds no room does not wait in this queue. Instead, the claim of its delivery is released.
  // The first body of an account always finds room.
  const enter = createFairQueue({ computeShare: (accounts) => Math.min(BYTES_PER_ACCOUNT, BYTES / accounts) })

  const read = async ({ eventId, withAttributes }: BodyKey): LargeBody => {
    const [row] = await selectBody(database, { eventId, withAttributes })
    return row?.body
  }

  /**
   * Adds a holder to a body if the body is in memory. Must be synchronous, because `release` could otherwise
   * delete the body before the holder is added.
   */
  const share = (key: string): Body | undefined => {
    const body = bodies.get(key)
    if (body) body.holders += 1
    return body
  }

  return {
    /** Keeps the body of an event until `release` is called. Resolves with undefined if there is no room. */
    hold: async (event: BodyKey & { accountId: number; bodyBytes: number }): Promise<Body | undefined> => {
      const { accountId, bodyBytes: length } = event
      const key = renderKey(event)
      const known = share(key)
      if (known) return known
      const leave = await enter(accountId, length).catch(() => undefined)
      // Another call may have added the same body during the wait.
      const added = share(key)
      if (added) {
        leave?.()
        return added
      }
      if (!leave) return undefined
      const body = { bytes: read(event), length, holders: 1, leave }
      bodies.set(key, body)
      return body
    },
    release: (event: BodyKey): void => {
      const key = renderKey(event)
      const body = bodies.get(key)!
      body.holders -= 1
      if (body.holders > 0) return
      bodies.delete(key)
      body.leave()
    },
    /** Returns how many bytes the large bodies in memory have. */
    bytes: (): number => [...bodies.values()].reduce((sum, { length }) => sum + length, 0),
  }
}
