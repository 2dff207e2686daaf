import type { Database } from '@leadwire/service-kit'

const REASON_AT_MOST = 500

const INSERT = `
  INSERT INTO refused_events (event_id, sequence, reason) VALUES ($1, $2, $3)
  ON CONFLICT (event_id) DO UPDATE SET sequence = excluded.sequence, reason = excluded.reason, refused_at = excluded.refused_at`

/** Makes the function that writes down that a message was refused, so that the outbox does not publish its event again. */
export const createRecordRefusal =
  (database: Database) =>
  async (refused: { eventId: string; sequence: number; reason: string }): Promise<void> => {
    const { eventId, sequence, reason } = refused
    // PostgreSQL takes no NUL.
    const text = reason.replaceAll('\0', '').slice(0, REASON_AT_MOST)
    await database.query({ name: 'record-refusal', text: INSERT, values: [eventId, sequence, text] })
  }
