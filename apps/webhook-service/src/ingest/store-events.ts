import { columnsOf, statement, type Transaction, violatedConstraint } from '@leadwire/service-kit'
import { includesAttributes } from '../delivery-sql'
import { passesFilter } from '../endpoints/filter'
import type { ClaimedDelivery } from '../queue/claim-deliveries'
import type { Claimable } from '../queue/send-deliveries'
import { bytesOf, type StoredEvent } from './read-event'

interface StoreOptions extends Claimable {
  events: StoredEvent[]
  now: Date
  maxRows: number
}

const NO_BODY = Buffer.alloc(0)

type Row = Omit<ClaimedDelivery, 'claim' | 'body' | 'bodyBytes' | 'dueAt' | 'storedAt'> & {
  fits: boolean
  status: string | null
  claim: number | null
}

const storeStatement = statement<Row>('store-events')`
  WITH asked AS (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $6::text[], $8::int[], $9::int[], $10::text[], $11::boolean[],
      $12::bigint[], $19::int[], $20::timestamptz[], $21::jsonb[], $22::int[]) WITH ORDINALITY
      AS e (id, account_id, account_key, lead_reference, traceparent, first, length, type, test, stream_sequence, lead_version, created_at, match,
        length_with, ord)
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
    SELECT id, account_id, enabled, url, sealed_secrets, events, leads, filter, include FROM endpoints
    WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = ANY (ARRAY (SELECT account_id FROM given)) AND deleted_at IS NULL))
      AND deleted_at IS NULL
    ORDER BY id
    FOR SHARE
  ), wanted AS (
    SELECT account_id, g.id AS event_id, g.lead_reference, g.place, r.id AS endpoint_id, r.enabled,
      ${includesAttributes('r')} AS with_attributes
    FROM given g JOIN receiving r USING (account_id)
    WHERE g.type = ANY (r.events) AND (r.leads = 'all' OR (r.leads = 'test') = g.test)
      AND ${passesFilter('r.filter', 'g.match')}
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
      number, lead_version, test, match, created_at, body_with_attributes)
    SELECT id, account_id, account_key, lead_reference, type, substring($5::bytea FROM first FOR length), traceparent,
      stream_sequence, fan_out, last - behind, lead_version, test, match, coalesce(created_at, clock_timestamp()),
      CASE WHEN length_with > 0 THEN substring($5::bytea FROM first + length FOR length_with) END
    FROM fresh LEFT JOIN counters USING (account_id)
    ORDER BY id
    RETURNING id, number
  ), fan_out AS (
    SELECT *, enabled AND endpoint_id NOT IN (SELECT unnest($17::bigint[])) AND row_number() OVER (ORDER BY place) <= $15
      AND row_number() OVER (PARTITION BY endpoint_id ORDER BY place) <= $16 AS claimed
    FROM wanted WHERE event_id IN (SELECT id FROM stored)
  ), fanned_out AS (
    INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, with_attributes, claim,
      claimed_until)
    SELECT account_id, event_id, endpoint_id, lead_reference, CASE WHEN enabled THEN 'pending' ELSE 'held' END, $7, with_attributes,
      CASE WHEN claimed THEN $13::int END,
      CASE WHEN claimed THEN clock_timestamp() + $14::int * interval '1 ms' END
    FROM fan_out
    RETURNING id, event_id, endpoint_id, status, CASE WHEN claimed_until IS NOT NULL THEN claim END AS claim
  )
  SELECT g.id IS NOT NULL AS fits, f.status, f.id, f.claim, 0 AS "attemptCount", 0 AS "scheduledAttempts", false AS manual,
    f.endpoint_id AS "endpointId", a.account_id AS "accountId", r.url, r.sealed_secrets AS "sealedSecrets",
    a.id AS "eventId", a.account_key AS "accountKey", s.number AS sequence, a.lead_version AS "leadVersion", a.traceparent,
    ${includesAttributes('r')} AND a.length_with > 0 AS "withAttributes"
  FROM set_config('synchronous_commit', 'on', true), asked a LEFT JOIN given g ON g.id = a.id
    LEFT JOIN stored s ON s.id = a.id
    LEFT JOIN fanned_out f ON f.event_id = a.id AND f.status = 'pending'
    LEFT JOIN receiving r ON r.id = f.endpoint_id AND f.claim IS NOT NULL`

/** Where the bodies of each event start among all of them, counted in bytes from 1. */
const startsOf = (events: StoredEvent[]): number[] => {
  let next = 1
  return events.map((event) => {
    const start = next
    next += bytesOf(event)
    return start
  })
}

const store = async (database: Transaction, options: StoreOptions) => {
  const { events, now, claim } = options
  const dueAt = now.getTime()
  const rows = await storeStatement(
    database,
    ...columnsOf(events, 'id', 'accountId', 'accountKey', 'leadReference'),
    Buffer.concat(events.flatMap(({ body, bodyWithAttributes }) => [body, bodyWithAttributes ?? NO_BODY])),
    ...columnsOf(events, 'traceparent'),
    now,
    startsOf(events),
    events.map(({ body }) => body.length),
    ...columnsOf(events, 'type', 'test', 'streamSequence'),
    ...[claim.number, claim.validMs, options.claimable, options.perEndpoint, options.waiting],
    options.maxRows,
    ...columnsOf(events, 'leadVersion', 'createdAt', 'match'),
    events.map(({ bodyWithAttributes }) => bodyWithAttributes?.length ?? 0),
  )
  const byId = new Map(events.map((event) => [event.id, event]))
  const claimed = rows.filter((row) => row.claim !== null)
  const unclaimed = rows.filter((row) => row.status === 'pending' && row.claim === null)
  return {
    claimed: claimed.map((row) => {
      const { body: ordinary, bodyWithAttributes } = byId.get(row.eventId)!
      const body = row.withAttributes ? bodyWithAttributes! : ordinary
      return Object.assign(row, { claim: claim.number, body, bodyBytes: body.length, dueAt, storedAt: dueAt })
    }),
    due: unclaimed.map((row) => ({ ...row, dueAt })),
    remaining: new Set(rows.filter(({ fits }) => !fits).map(({ eventId }) => eventId)),
    logged: [...new Set(rows.filter(({ sequence }) => sequence !== null).map(({ accountId }) => accountId))],
  }
}

/**
 * Stores events with a delivery for each endpoint that subscribes to them and whose filter they pass, in one statement. A stored event
 * changes nothing.
 *
 * An event of a lead gets its account's next number. The counters are locked until the commit, so numbers have no gaps and become
 * visible in order; the commit waits for the disk, so that a number which a receiver saw is never given again. An event that another
 * process stored since the statement started breaks the primary key, draws no number, and the statement is repeated.
 *
 * The statement locks endpoints, then counters, each by id: writers never wait in a circle, and no delivery is pending at an endpoint
 * that was disabled meanwhile. Endpoints are found by account and locked by id: in one step, and where nothing may be sorted, PostgreSQL
 * reads the endpoints of all accounts. Bodies travel as one value: an array of them would travel as text.
 *
 * It writes at most `maxRows` rows, and at least one event, those with the fewest endpoints first; the others are `remaining`. It claims
 * up to `claimable` deliveries, `perEndpoint` of each endpoint and none of those in `waiting`; `due` are the endpoints of the others,
 * `logged` the accounts whose logs have new events.
 * Only claimed deliveries are joined with their endpoints: without statistics PostgreSQL compares each with each (3,000: 12 times as slow).
 */
export const storeEvents = async (database: Transaction, options: StoreOptions): ReturnType<typeof store> => {
  // The same event may be twice in a batch.
  const events = [...new Map(options.events.map((event) => [event.id, event])).values()]
  try {
    return await store(database, { ...options, events })
  } catch (error) {
    if (violatedConstraint(error) !== 'events_pkey') throw error
    return storeEvents(database, options)
  }
}
