import type { DeadLetter } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { statement } from '../statement'

const MAX_REASON = 500

const insert = statement('record-dead-letter')`
  INSERT INTO dead_letters (event_id, stream_sequence, reason) VALUES ($1, $2, $3)
  ON CONFLICT (event_id) DO UPDATE
  SET stream_sequence = excluded.stream_sequence, reason = excluded.reason, recorded_at = excluded.recorded_at`

/** Records an invalid event, so that the outbox stops publishing it. */
export const recordDeadLetter = async (
  database: Database,
  { eventId, sequence, reason }: DeadLetter,
): Promise<void> => {
  // PostgreSQL stores no NUL in a text.
  const text = reason.replaceAll('\0', '').slice(0, MAX_REASON)
  await insert(database, eventId, sequence, text)
}
