import { type DeadLetter, isUuid } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

const findStored = statement<{ id: string }>('find-stored-events')`
  SELECT id FROM events WHERE id = ANY ($1::uuid[])`

const findDeadLetters = statement<DeadLetter>('find-dead-letters')`
  SELECT event_id AS "eventId", stream_sequence AS sequence, reason FROM dead_letters
  WHERE event_id = ANY ($1::uuid[])`

/**
 * Returns which of these events are stored, and which are dead letters (`refused`). A stored event has its
 * deliveries, or waits in the fan-out queue.
 */
export const findStoredEvents: Operation<'findStoredEvents'> = async (
  { database, notifications },
  { eventIds },
) => {
  const ids = eventIds.filter(isUuid)
  const both = [database, notifications]
  const stored = await Promise.all(both.map((tables) => findStored(tables, ids)))
  const deadLetters = await Promise.all(both.map((tables) => findDeadLetters(tables, ids)))
  return { eventIds: stored.flat().map(({ id }) => id), refused: deadLetters.flat() }
}
