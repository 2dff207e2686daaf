import { type Transaction, violatedConstraint } from '@leadwire/service-kit'
import type { Claim, ClaimedDelivery } from '../claim'
import type { StoredEvent } from './stored-event'

/** `fault` is why this event can't be stored: by its data, or because its transaction takes too long. */
export type StoreResult = 'stored' | { fault: unknown }

interface StoreOptions {
  events: StoredEvent[]
  dueAt: string
  maxRows: number
  claim: Claim
  claimable: number
  perEndpoint: number
  waiting: number[]
}

interface StoreOutcome {
  claimed: ClaimedDelivery[]
  due: { endpointId: number; accountId: number }[]
  unfit: Set<string>
}

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
 *
 * An event of a lead gets its account's next number. The counters are locked until the commit: numbers have no gaps, and become
 * visible in their order. An event that another process has stored since the statement began breaks the primary key, so that no number
 * is drawn for it, and all is tried again. The commit waits for the disk: a number that a receiver has seen is never another event's.
 *
 * The lock on the endpoints makes a change of theirs wait, or is waited for and then read anew: a delivery is never
 * pending at an endpoint that was disabled meanwhile. Then counters are locked. Ids are sorted so that two writers never wait in a circle.
 *
 * The endpoints are found by their account and locked by their ids: asked for both at once, in the order of ids and where
 * nothing may be sorted, PostgreSQL reads all endpoints of all accounts. Bodies travel as one, since an array of them would be
 * written and read as text.
 *
 * As many events are stored as write `maxRows` rows, those with the fewest endpoints first, and at least one; the others are
 * unfit. An account's endpoints are counted whatever they subscribe to.
 *
 * Up to `claimable` deliveries are claimed as they are stored, `perEndpoint` for each endpoint and none for those of `waiting`. They
 * are answered with, and so are the endpoints of the others that are due. `dueAt` is an ISO timestamp.
 *
 * Only claimed deliveries are joined with their endpoints: without statistics PostgreSQL compares each with each (seen where an event
 * goes to 3,000 endpoints: 12 times as slow).
 */
export const storeEvents = async (database: Transaction, options: StoreOptions): Promise<StoreOutcome> => {
  // One that came twice is in a batch once.
  const events = [...new Map(options.events.map((event) => [event.id, event])).values()]
  try {
    return await store(database, { ...options, events })
  } catch (error) {
    if (violatedConstraint(error) !== 'events_pkey') throw error
    return storeEvents(database, options)
  }
}

const store = async (database: Transaction, options: StoreOptions): Promise<StoreOutcome> => {
  const { events, dueAt, claim } = options
  const rows = await database.query<
    { fits: boolean; status: string | null; claim: number | null } & Omit<
      ClaimedDelivery,
      'claim' | 'body' | 'dueAt' | 'storedAt'
    >
  >({
    name: 'store-events',
    text: `
      WITH asked AS (
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $6::text[], $8::int[], $9::int[], $10::text[], $11::boolean[],
          $12::bigint[], $19::int[], $20::timestamptz[]) WITH ORDINALITY
          AS e (id, account_id, account_key, lead_reference, traceparent, first, length, type, test, stream_sequence, lead_version, created_at, ord)
      ), sizes AS MATERIALIZED (
        SELECT account_id, count(*) AS endpoints FROM endpoints
        WHERE account_id = ANY ($2) AND deleted_at IS NULL GROUP BY 1
      ), given AS MATERIALIZED (
        SELECT * FROM (
          SELECT a.*, row_number() OVER smallest AS place, sum(1 + coalesce(endpoints, 0)) OVER smallest AS rows
          FROM asked a LEFT JOIN sizes USING (account_id)
          WINDOW smallest AS (ORDER BY endpoints NULLS FIRST, id)
        ) a WHERE rows <= $18 OR place = 1
      ), receiving AS (
        SELECT id, account_id, enabled, url, sealed_secrets, secret, old_secrets, events, leads FROM endpoints
        WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = ANY (ARRAY (SELECT account_id FROM given)) AND deleted_at IS NULL))
          AND deleted_at IS NULL
        ORDER BY id
        FOR SHARE
      ), wanted AS (
        SELECT account_id, g.id AS event_id, g.lead_reference, g.place, r.id AS endpoint_id, r.enabled
        FROM given g JOIN receiving r USING (account_id)
        WHERE g.type = ANY (r.events) AND (r.leads = 'all' OR (r.leads = 'test') = g.test)
      ), counted AS MATERIALIZED (
        SELECT event_id, count(*) AS fan_out FROM wanted GROUP BY event_id
      ), fresh AS MATERIALIZED (
        SELECT g.*, coalesce(fan_out, 0) AS fan_out,
          CASE WHEN lead_version IS NOT NULL THEN row_number() OVER (PARTITION BY account_id ORDER BY ord DESC) - 1 END AS behind
        FROM given g LEFT JOIN counted ON event_id = id WHERE NOT EXISTS (SELECT FROM events e WHERE e.id = g.id)
      ), counters AS (
        INSERT INTO public.event_counters AS c (account_id, last)
        SELECT account_id, count(*) FROM fresh WHERE behind IS NOT NULL GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id) DO UPDATE SET last = c.last + excluded.last
        RETURNING account_id, last
      ), stored AS (
        INSERT INTO events (id, account_id, account_key, lead_reference, type, body, traceparent, stream_sequence, fan_out,
          number, lead_version, test, created_at)
        SELECT id, account_id, account_key, lead_reference, type, substring($5::bytea FROM first FOR length), traceparent,
          stream_sequence, fan_out, last - behind, lead_version, test, coalesce(created_at, clock_timestamp())
        FROM fresh LEFT JOIN counters USING (account_id)
        ORDER BY id
        RETURNING id, number
      ), fan_out AS (
        SELECT *, enabled AND endpoint_id NOT IN (SELECT unnest($17::bigint[])) AND row_number() OVER (ORDER BY place) <= $15
          AND row_number() OVER (PARTITION BY endpoint_id ORDER BY place) <= $16 AS claimed
        FROM wanted WHERE event_id IN (SELECT id FROM stored)
      ), fanned_out AS (
        INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, claim, claimed_until)
        SELECT account_id, event_id, endpoint_id, lead_reference, CASE WHEN enabled THEN 'pending' ELSE 'held' END, $7,
          CASE WHEN claimed THEN $13::int END,
          CASE WHEN claimed THEN clock_timestamp() + $14::int * interval '1 ms' END
        FROM fan_out
        RETURNING id, event_id, endpoint_id, status, CASE WHEN claimed_until IS NOT NULL THEN claim END AS claim
      )
      SELECT g.id IS NOT NULL AS fits, f.status, f.id, f.claim, 0 AS "attemptCount", 0 AS "scheduledAttempts", false AS "byHand",
        f.endpoint_id AS "endpointId", a.account_id AS "accountId",
        r.url, r.sealed_secrets AS "sealedSecrets", r.secret, r.old_secrets AS "oldSecrets",
        a.id AS "eventId", a.account_key AS "accountKey", s.number AS sequence, a.lead_version AS "leadVersion", a.traceparent,
        a.length AS "bodyBytes"
      FROM set_config('synchronous_commit', 'on', true), asked a LEFT JOIN given g ON g.id = a.id
        LEFT JOIN stored s ON s.id = a.id
        LEFT JOIN fanned_out f ON f.event_id = a.id AND f.status = 'pending'
        LEFT JOIN receiving r ON r.id = f.endpoint_id AND f.claim IS NOT NULL`,
    values: [
      events.map(({ id }) => id),
      events.map(({ accountId }) => accountId),
      events.map(({ accountKey }) => accountKey),
      events.map(({ leadReference }) => leadReference),
      Buffer.concat(events.map(({ body }) => body)),
      events.map(({ traceparent }) => traceparent),
      dueAt,
      ...placesOf(events),
      events.map(({ type }) => type),
      events.map(({ test }) => test),
      events.map(({ streamSequence }) => streamSequence ?? null),
      claim.number,
      claim.validMs,
      options.claimable,
      options.perEndpoint,
      options.waiting,
      options.maxRows,
      events.map(({ leadVersion }) => leadVersion),
      events.map(({ createdAt }) => createdAt),
    ],
  })
  const bodies = new Map(events.map(({ id, body }) => [id, body]))
  const claimed = rows
    .filter((row) => row.claim !== null)
    .map((row) =>
      Object.assign(row, {
        ...{ claim: claim.number, body: bodies.get(row.eventId)! },
        ...{ dueAt, storedAt: dueAt },
      }),
    )
  return {
    claimed,
    due: rows.filter((row) => row.status === 'pending' && row.claim === null),
    unfit: new Set(rows.filter(({ fits }) => !fits).map(({ eventId }) => eventId)),
  }
}
