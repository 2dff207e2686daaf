import { createFairQueue, type Database, statement } from '@leadwire/service-kit'

/** A larger body is stored in a batch of its account, and read after its claim. The number of attempts bounds the others. */
export const LARGE_BYTES = 16 * 1024
const BYTES = 64 * 1024 * 1024
const BYTES_OF_ACCOUNT = 16 * 1024 * 1024

const bodyOf = statement<{ body: Buffer }>('large-body')`
  SELECT CASE WHEN $2::boolean THEN coalesce(body_with_attributes, body) ELSE body END AS body
  FROM events WHERE id = $1 AND erased_at IS NULL`

/** Undefined once its event was removed or erased. */
export type LargeBody = Promise<Buffer | undefined>

interface Body {
  bytes: LargeBody
  length: number
  holders: number
  leave: () => void
}

type Asked = { eventId: string; withAttributes: boolean }

const keyOf = ({ eventId, withAttributes }: Asked) => `${eventId} ${withAttributes}`

/** The large bodies that the attempts of this process send: one buffer for all deliveries of an event with the same body. */
export const createLargeBodies = (database: Database) => {
  const bodies = new Map<string, Body>()
  // Nothing waits: claims are released instead. The first body of an account always enters.
  const enter = createFairQueue({ shareOf: (accounts) => Math.min(BYTES_OF_ACCOUNT, BYTES / accounts) })

  const read = async ({ eventId, withAttributes }: Asked): LargeBody =>
    (await bodyOf(database, eventId, withAttributes))[0]?.body

  return {
    /** Holds the body of an event until `release`. Resolves to undefined while there is no room. */
    hold: async (event: Asked & { accountId: number; bodyBytes: number }) => {
      const { accountId, bodyBytes: length } = event
      const key = keyOf(event)
      const leave = bodies.has(key) ? undefined : await enter(accountId, length).catch(() => undefined)
      let body = bodies.get(key)
      // Another call may have read the same body meanwhile.
      if (body) leave?.()
      else if (!leave) return undefined
      else {
        body = { bytes: read(event), length, holders: 0, leave }
        bodies.set(key, body)
      }
      body.holders += 1
      return body
    },
    release: (event: Asked): void => {
      const key = keyOf(event)
      const body = bodies.get(key)!
      body.holders -= 1
      if (body.holders > 0) return
      bodies.delete(key)
      body.leave()
    },
    bytes: (): number => [...bodies.values()].reduce((sum, { length }) => sum + length, 0),
  }
}
