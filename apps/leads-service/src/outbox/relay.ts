import type { Database, Logger, Round } from '@leadwire/service-kit'
import type { Publish, PublishedEvent } from './publish'

const BATCH = 500
// An event may have several megabytes: what is read at once is bounded, whatever waits.
const BATCH_BYTES = 16_000_000

const CLAIM = `
  WITH claimed AS MATERIALIZED (
    SELECT id, octet_length(payload) AS bytes FROM outbox
    WHERE published_at IS NULL
    ORDER BY id LIMIT ${BATCH}
    FOR NO KEY UPDATE SKIP LOCKED
  ), fitting AS MATERIALIZED (
    SELECT id FROM (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM claimed) c
    WHERE before < ${BATCH_BYTES}
  )
  SELECT id, event_id AS "eventId", type, payload, sequence, traceparent FROM outbox
  WHERE id = ANY (ARRAY (SELECT id FROM fitting)) ORDER BY id`

const MARK = `
  UPDATE outbox SET published_at = clock_timestamp(), sequence = m.sequence
  FROM unnest($1::bigint[], $2::bigint[]) AS m (id, sequence) WHERE outbox.id = m.id`

/**
 * Publishes one batch of waiting events and marks those the stream has confirmed. Rows are locked meanwhile, so the
 * relays of several copies share the work.
 *
 * A crash between the stream's confirmation and the commit publishes an event a second time: consumers drop
 * duplicates by event id.
 */
export const relayOnce = (deps: { database: Database; publish: Publish; logger: Logger }): Promise<Round> =>
  deps.database.transaction(async (tx) => {
    const rows = await tx.query<{ id: number } & PublishedEvent>({ name: 'claim-events', text: CLAIM })
    const published = await Promise.allSettled(rows.map((row) => deps.publish(row)))
    const confirmed = rows.flatMap(({ id }, index) => {
      const result = published[index]!
      return result.status === 'fulfilled' ? [{ id, sequence: result.value }] : []
    })
    if (confirmed.length > 0) {
      const values = [confirmed.map(({ id }) => id), confirmed.map(({ sequence }) => sequence)]
      await tx.query({ name: 'mark-published', text: MARK, values })
    }
    const failure = published.find((result) => result.status === 'rejected')
    if (failure)
      deps.logger.warn({ err: failure.reason, waiting: rows.length - confirmed.length }, 'could not publish')
    return failure ? 'pause' : rows.length > 0
  })
