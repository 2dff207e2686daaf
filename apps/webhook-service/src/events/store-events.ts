import type { Transaction } from '@leadwire/service-kit'
import type { Webhook } from '../attempt/webhook-headers'
import type { Claim } from '../claim'
import { type StoredSecrets, storedSecrets } from '../endpoints/sealed-secrets'
import type { StoredEvent } from './stored-event'

/** A delivery that was made and is not held, with its endpoint as it was then. */
export interface FreshDelivery extends StoredSecrets, Pick<Webhook, 'url' | 'eventId'> {
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
 * Stores events together with their fan-out, one delivery for each endpoint of the account that subscribes to such events of
 * such leads and is not deleted, in one statement and so in one transaction. An event that is there already changes nothing.
 * One that nobody subscribes to is stored as well, so that the outbox lets go of it, but without its body; a new lead keeps it.
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
      WITH given AS (
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $6::text[], $12::int[], $13::int[], $14::text[], $15::boolean[], $16::bigint[])
          AS e (id, account_id, account_key, lead_reference, traceparent, first, length, kind, test, sequence)
      ), receiving AS (
        SELECT id, account_id, enabled, url, sealed_secrets, secret, old_secrets, events, leads FROM endpoints
        WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = ANY ($2) AND deleted_at IS NULL))
          AND deleted_at IS NULL
        ORDER BY id
        FOR SHARE
      ), wanted AS (
        SELECT account_id, g.id AS event_id, g.lead_reference, r.id AS endpoint_id, r.enabled
        FROM given g JOIN receiving r USING (account_id)
        WHERE g.kind = ANY (r.events) AND (r.leads = 'all' OR (r.leads = 'test') = g.test)
      ), counted AS MATERIALIZED (
        SELECT event_id, count(*) AS fan_out FROM wanted GROUP BY event_id
      ), stored AS (
        INSERT INTO events (id, account_id, account_key, lead_reference, kind, body, traceparent, sequence, fan_out)
        SELECT id, account_id, account_key, lead_reference, kind,
          CASE WHEN kind = 'lead.created' OR fan_out > 0 THEN substring($5::bytea FROM first FOR length) ELSE '' END,
          traceparent, sequence, coalesce(fan_out, 0)
        FROM given LEFT JOIN counted ON event_id = id
        ORDER BY id
        ON CONFLICT (id) DO NOTHING
        RETURNING id
      ), fan_out AS (
        SELECT t.*, t.enabled AND row_number() OVER (PARTITION BY t.endpoint_id) <= w.room AS claimed
        FROM wanted t LEFT JOIN unnest($8::bigint[], $9::int[]) AS w (endpoint_id, room) ON w.endpoint_id = t.endpoint_id
        WHERE t.event_id IN (SELECT id FROM stored)
      ), fanned_out AS (
        INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, claim, claimed_until)
        SELECT account_id, event_id, endpoint_id, lead_reference, CASE WHEN enabled THEN 'pending' ELSE 'held' END, $7,
          CASE WHEN claimed THEN $10::int END,
          CASE WHEN claimed THEN clock_timestamp() + $11::int * interval '1 ms' END
        FROM fan_out
        RETURNING id, event_id, endpoint_id, status, claimed_until
      )
      SELECT f.id, f.event_id AS "eventId", f.endpoint_id AS "endpointId", f.claimed_until IS NOT NULL AS claimed,
        r.url, ${storedSecrets('r')}
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
      events.map(({ kind }) => kind),
      events.map(({ test }) => test),
      events.map(({ sequence }) => sequence ?? null),
    ],
  })
}
