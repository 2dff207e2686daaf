import type { FindHeldEventsRequest, FindHeldEventsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isUuid } from '../uuid'

/** Which of these events are stored; an event is stored together with its fan-out, or not at all. */
export const findHeldEvents = async (
  database: Database,
  { eventIds }: FindHeldEventsRequest,
): Promise<FindHeldEventsResponse> => {
  const rows = await database.query<{ id: string }>({
    name: 'find-held-events',
    text: 'SELECT id FROM events WHERE id = ANY ($1::uuid[])',
    values: [eventIds.filter(isUuid)],
  })
  return { eventIds: rows.map(({ id }) => id) }
}
