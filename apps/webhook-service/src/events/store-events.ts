import { ServiceError, type Transaction } from '@leadwire/service-kit'
import type { Webhook } from '../attempt/webhook-headers'
import type { Claim } from '../claim'
import type { StoredEvent } from './stored-event'

/** A delivery that was made and is not held, with its endpoint as it was then. */
export interface FreshDelivery extends Pick<Webhook, 'url' | 'secret' | 'oldSecrets' | 'eventId'> {
  id: number
  endpointId: number
  claimed: boolean
}

export interface Stored {
  /** Resolves when no crash of the database undoes it. */
  durable: Promise<unknown>
}

/** `fault` is why this event can't be stored: by its data, or because its transaction takes too long. */
export type StoreResult = Stored | { fault: unknown }

/** Whether a statement took longer than it may. */
export const isLate = (error: unknown) => error instanceof ServiceError && error.code === 'late'

/** Where the body of each event begins and how long it is, counted in bytes from 1. */
const placesOf = (events: StoredEvent[]): [first: number[], length: number[]] => {
  const first: number[] = []
  let next = 1
  for (const { body } of events) {
    first.push(next)
    next += body.length
  }
  return [first, events.map(({ body }) => body.length)]
}

/**
 * Stores events together with their fan-out, one delivery for each endpoint of the account that is not deleted, in one
 * statement and so in one transaction. An event that is there already changes nothing.
 *
 * The lock on the endpoints makes a change of theirs wait, or is waited for and then read anew: a delivery is never
 * pending at an endpoint that was disabled meanwhile. Ids are sorted so that two writers never wait in a circle.
 *
 * The endpoints are found by their account and locked by their ids: asked for both at once, in the order of ids and where
 * nothing may be sorted, PostgreSQL reads all endpoints of all accounts. Bodies travel as one, since an array of them would be
 * written and read as text.
 *
 * As many are claimed for each endpoint as there is room. `dueAt` is an ISO timestamp.
 */
export const storeEvents = async (
  database: Transaction,
  options: { events: StoredEvent[]; dueAt: string; rooms: Map<number, { length: number }>; claim: Claim },
): Promise<FreshDelivery[]> => {
  const { events, dueAt, rooms, claim } = options
  return database.query<FreshDelivery>({
    name: 'store-events',
    text: `
      WITH stored AS (
        INSERT INTO events (id, account_id, account_key, lead_reference, body, traceparent)
        SELECT id, account_id, account_key, lead_reference, substring($5::bytea FROM first FOR length), traceparent
        FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $6::text[], $12::int[], $13::int[])
          AS e (id, account_id, account_key, lead_reference, traceparent, first, length)
        ORDER BY id
        ON CONFLICT (id) DO NOTHING
        RETURNING id, account_id, lead_reference
      ), receiving AS (
        SELECT id, account_id, enabled, url, secret, old_secrets FROM endpoints
        WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = ANY ($2) AND deleted_at IS NULL))
          AND deleted_at IS NULL
        ORDER BY id
        FOR SHARE
      ), fan_out AS (
        SELECT s.account_id, s.id AS event_id, r.id AS endpoint_id, s.lead_reference, r.enabled,
          r.enabled AND row_number() OVER (PARTITION BY r.id) <= w.room AS claimed
        FROM stored s JOIN receiving r USING (account_id)
        LEFT JOIN unnest($8::bigint[], $9::int[]) AS w (endpoint_id, room) ON w.endpoint_id = r.id
      ), fanned_out AS (
        INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, claim, claimed_until)
        SELECT account_id, event_id, endpoint_id, lead_reference, CASE WHEN enabled THEN 'pending' ELSE 'held' END, $7,
          CASE WHEN claimed THEN $10::int END,
          CASE WHEN claimed THEN clock_timestamp() + $11::int * interval '1 ms' END
        FROM fan_out
        RETURNING id, event_id, endpoint_id, status, claim
      )
      SELECT f.id, f.event_id AS "eventId", f.endpoint_id AS "endpointId", f.claim IS NOT NULL AS claimed,
        r.url, r.secret, r.old_secrets AS "oldSecrets"
      FROM fanned_out f JOIN receiving r ON r.id = f.endpoint_id WHERE f.status = 'pending'`,
    values: [
      events.map(({ id }) => id),
      events.map(({ accountId }) => accountId),
      events.map(({ accountKey }) => accountKey),
      events.map(({ leadReference }) => leadReference),
      Buffer.concat(events.map(({ body }) => body)),
      events.map(({ traceparent }) => traceparent),
      dueAt,
      [...rooms.keys()],
      [...rooms.values()].map(({ length }) => length),
      claim.number,
      claim.validMs,
      ...placesOf(events),
    ],
  })
}
