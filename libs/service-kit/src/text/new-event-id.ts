import { randomUUID } from 'node:crypto'

/**
 * Returns a UUID of version 7 (RFC 9562): 48 bits of time in milliseconds, then 74 random bits. Such ids
 * increase, so the unique indexes of events grow at one end. After a checkpoint, PostgreSQL therefore logs
 * only a few of their pages in full. Node 20 has no function for version 7. The random bits and the variant
 * come from a UUID of version 4, for which Node caches random bytes.
 */
export const newEventId = (now = Date.now()): string => {
  const time = now.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
