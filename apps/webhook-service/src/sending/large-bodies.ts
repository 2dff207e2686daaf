import type { Database } from '@leadwire/service-kit'

/** A larger body shares no batch, and is not read with its delivery. The others are bounded by the number of attempts. */
export const LARGE_BYTES = 16 * 1024
/** In memory at once, of all accounts and of one: whoever waits for a receiver leaves room for the others. */
const BYTES = 64 * 1024 * 1024
const BYTES_OF_ACCOUNT = 16 * 1024 * 1024

interface Body {
  bytes: Promise<Buffer>
  length: number
  accountId: number
  holders: number
}

/** The large bodies that the attempts of this process send: one buffer for all deliveries of an event. */
export const createLargeBodies = (database: Database) => {
  const bodies = new Map<string, Body>()

  const bytesOf = (accountId?: number): number => {
    let sum = 0
    for (const body of bodies.values())
      if (accountId === undefined || body.accountId === accountId) sum += body.length
    return sum
  }

  const read = async (eventId: string): Promise<Buffer> => {
    const text = 'SELECT body FROM events WHERE id = $1'
    const [event] = await database.query<{ body: Buffer }>({ name: 'large-body', text, values: [eventId] })
    if (!event) throw new Error('the event is gone')
    return event.body
  }

  return {
    /** The body of an event, until `letGo`; undefined while there is no room. There always is for an account that has none. */
    take: (event: { eventId: string; accountId: number; bodyBytes: number }): Promise<Buffer> | undefined => {
      const { eventId, accountId, bodyBytes: length } = event
      let body = bodies.get(eventId)
      if (!body) {
        const ofAccount = bytesOf(accountId)
        if (ofAccount > 0 && (ofAccount >= BYTES_OF_ACCOUNT || bytesOf() >= BYTES)) return undefined
        body = { bytes: read(eventId), length, accountId, holders: 0 }
        bodies.set(eventId, body)
      }
      body.holders += 1
      return body.bytes
    },
    letGo: (eventId: string): void => {
      const body = bodies.get(eventId)!
      body.holders -= 1
      if (body.holders === 0) bodies.delete(eventId)
    },
    bytes: (): number => bytesOf(),
  }
}
