import type { DeadLetter } from '@leadwire/contracts'
import { isUuid } from '../arguments'
import type { Operation } from '../operation'

const STORED = 'SELECT id FROM events WHERE id = ANY ($1::uuid[])'

const DEAD_LETTERS = `
  SELECT event_id AS "eventId", stream_sequence AS sequence, reason FROM dead_letters WHERE event_id = ANY ($1::uuid[])`

/**
 * Which of these events, of leads and notifications, are stored, each with its whole fan-out; and which are dead letters
 * (`refused`).
 */
export const findStoredEvents: Operation<'findStoredEvents', 'database' | 'notifications'> = async (
  { database, notifications },
  { eventIds },
) => {
  const values = [eventIds.filter(isUuid)]
  const inBoth = <Row extends object>(name: string, text: string) =>
    Promise.all([database, notifications].map((tables) => tables.query<Row>({ name, text, values })))
  const stored = await inBoth<{ id: string }>('find-stored-events', STORED)
  const deadLetters = await inBoth<DeadLetter>('find-dead-letters', DEAD_LETTERS)
  return { eventIds: stored.flat().map(({ id }) => id), refused: deadLetters.flat() }
}
