import { columnsOf, type Database, type Logger, type Round, statement } from '@leadwire/service-kit'
import type { Publish, PublishedEvent } from './publish'

const BATCH = 500
// An event may have several megabytes: what is read at once is bounded, whatever waits.
const BATCH_BYTES = 16_000_000

const claim = statement<PublishedEvent>('claim-events')`
  WITH claimed AS MATERIALIZED (
    SELECT event_id, created_at, octet_length(payload) AS bytes FROM outbox
    WHERE published_at IS NULL
    ORDER BY created_at LIMIT ${BATCH}
    FOR NO KEY UPDATE SKIP LOCKED
  ), fitting AS MATERIALIZED (
    SELECT event_id FROM (SELECT event_id, sum(bytes) OVER (ORDER BY created_at, event_id) - bytes AS before FROM claimed) c
    WHERE before < ${BATCH_BYTES}
  )
  SELECT event_id AS "eventId", type, payload, sequence, traceparent FROM outbox
  WHERE event_id = ANY (ARRAY (SELECT event_id FROM fitting)) ORDER BY created_at`

const mark = statement('mark-published')`
  UPDATE outbox SET published_at = clock_timestamp(), sequence = m.sequence
  FROM unnest($1::uuid[], $2::bigint[]) AS m (event_id, sequence) WHERE outbox.event_id = m.event_id`

/**
 * Publishes one batch of waiting events and marks those the stream has confirmed. Rows are locked meanwhile, so the
 * relays of several copies share the work.
 *
 * A crash between the stream's confirmation and the commit publishes an event a second time: consumers drop
 * duplicates by event id.
 */
export const relayOnce = (deps: { database: Database; publish: Publish; logger: Logger }): Promise<Round> =>
  deps.database.transaction(async (tx) => {
    const rows = await claim(tx)
    const published = await Promise.allSettled(rows.map((row) => deps.publish(row)))
    const confirmed = rows.flatMap(({ eventId }, index) => {
      const result = published[index]!
      return result.status === 'fulfilled' ? [{ eventId, sequence: result.value }] : []
    })
    if (confirmed.length > 0) mark.send(tx, ...columnsOf(confirmed, 'eventId', 'sequence'))
    const failure = published.find((result) => result.status === 'rejected')
    if (failure)
      deps.logger.warn({ err: failure.reason, waiting: rows.length - confirmed.length }, 'could not publish')
    return failure ? 'pause' : rows.length > 0
  })
