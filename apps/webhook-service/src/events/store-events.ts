import type { Database } from '@leadwire/service-kit'
import type { StoredEvent } from './read-lead-created'

/**
 * Stores events together with their fan-out, one delivery for each endpoint of the account that is not deleted, in one
 * statement and so in one transaction. An event that is there already changes nothing.
 *
 * The lock on the endpoints makes a change of theirs wait, or is waited for and then read anew: a delivery is never
 * pending at an endpoint that was disabled meanwhile. Ids are sorted so that two writers never wait in a circle.
 *
 * Answers with the endpoints that have something to send now. `dueAt` is an ISO timestamp.
 */
export const storeEvents = async (
  database: Database,
  { events, dueAt }: { events: StoredEvent[]; dueAt: string },
): Promise<number[]> => {
  const rows = await database.query<{ endpoint_id: number }>({
    name: 'store-events',
    text: `
      WITH stored AS (
        INSERT INTO events (id, account_id, account_key, lead_reference, body, traceparent)
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $5::bytea[], $6::text[]) AS e (id)
        ORDER BY e.id
        ON CONFLICT (id) DO NOTHING
        RETURNING id, account_id, lead_reference
      ), receiving AS (
        SELECT id, account_id, enabled FROM endpoints
        WHERE account_id = ANY ($2) AND deleted_at IS NULL
        ORDER BY id
        FOR SHARE
      ), fanned_out AS (
        INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at)
        SELECT s.account_id, s.id, r.id, s.lead_reference, CASE WHEN r.enabled THEN 'pending' ELSE 'held' END, $7
        FROM stored s JOIN receiving r USING (account_id)
        RETURNING endpoint_id, status
      )
      SELECT DISTINCT endpoint_id FROM fanned_out WHERE status = 'pending'`,
    values: [
      events.map(({ id }) => id),
      events.map(({ accountId }) => accountId),
      events.map(({ accountKey }) => accountKey),
      events.map(({ leadReference }) => leadReference),
      events.map(({ body }) => body),
      events.map(({ traceparent }) => traceparent),
      dueAt,
    ],
  })
  return rows.map((row) => row.endpoint_id)
}
