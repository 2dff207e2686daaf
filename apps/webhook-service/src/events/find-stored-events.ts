import type { DeadLetter, FindStoredEventsRequest, FindStoredEventsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isUuid } from '../uuid'

const heldIn = async (database: Database, eventIds: string[]): Promise<string[]> => {
  const text = 'SELECT id FROM events WHERE id = ANY ($1::uuid[])'
  const rows = await database.query<{ id: string }>({ name: 'find-held-events', text, values: [eventIds] })
  return rows.map(({ id }) => id)
}

const refusedIn = (database: Database, eventIds: string[]) =>
  database.query<DeadLetter>({
    name: 'find-refused-events',
    text: 'SELECT event_id AS "eventId", sequence, reason FROM refused_events WHERE event_id = ANY ($1::uuid[])',
    values: [eventIds],
  })

/**
 * Which of these events, leads' and notifications', are stored; an event is stored together with its fan-out, or not at all. Beside them those that were refused.
 */
export const findStoredEvents = async (
  { database, notifications }: { database: Database; notifications: Database },
  { eventIds }: FindStoredEventsRequest,
): Promise<FindStoredEventsResponse> => {
  const ids = eventIds.filter(isUuid)
  const kinds = [database, notifications]
  const held = await Promise.all(kinds.map((kind) => heldIn(kind, ids)))
  const refused = await Promise.all(kinds.map((kind) => refusedIn(kind, ids)))
  return { eventIds: held.flat(), refused: refused.flat() }
}
