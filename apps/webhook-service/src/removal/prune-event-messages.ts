import { LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import { type Database, type Pruned, statement } from '@leadwire/service-kit'

const BATCH = 5000
const STREAM_MAX_AGE_S = LEADS_STREAM_CONFIG.max_age / 1_000_000_000

const deleteOld = statement('delete-old-event-messages')`
  DELETE FROM event_messages WHERE (event_id, stream_sequence) IN (
    SELECT event_id, stream_sequence FROM event_messages
    WHERE received_at < now() - interval '${STREAM_MAX_AGE_S} seconds'
    ORDER BY received_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING event_id`

/** Creates the pruning of `event_messages`. Prunes rows whose messages the stream no longer keeps. */
export const createPruneEventMessages = (database: Database) => ({
  batch: async (): Promise<Pruned> => {
    const { length: rows } = await deleteOld(database)
    return { rows, more: rows === BATCH }
  },
})
