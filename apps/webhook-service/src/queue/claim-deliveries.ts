import { randomInt } from 'node:crypto'
import { statement, type Transaction } from '@leadwire/service-kit'
import type { Webhook } from '../attempt/webhook-headers'
import { BODY, inMs, isReceiving, UNCLAIMED, WITH_ATTRIBUTES } from '../delivery-sql'
import { sealedSecretsOf } from '../endpoints/secrets/sealed-secrets'
import type { DueEndpoint } from './due-endpoints'
import { LARGE_BYTES } from './large-bodies'

/**
 * The right to attempt deliveries until a time of the database's clock; after it others may. Its number fences results: one under
 * another number comes too late and changes nothing.
 */
export interface Claim {
  number: number
  validMs: number
}

/** Random: a database that crashed may give a delivery the id of one that it lost. */
export const newClaim = (validMs: number): Claim => ({ number: randomInt(2 ** 31), validMs })

export interface ClaimedDelivery extends Webhook, DueEndpoint {
  id: number
  /** The length of the body; a large body is read later. */
  bodyBytes: number
  withAttributes: boolean
  claim: number
  /** Attempts made before, scheduled and manual. */
  attemptCount: number
  scheduledAttempts: number
  /** Whether the attempt is a manual one, outside the schedule. */
  manual: boolean
  /** When its event was stored, in milliseconds since 1970. */
  storedAt: number
}

// The ids as an array: the planner then takes the primary key, whatever it estimates for the LIMITs.
const claimStatement = statement<ClaimedDelivery>('claim-deliveries')`
  WITH wanted AS MATERIALIZED (
    SELECT w.* FROM unnest($1::bigint[], $2::int[], $7::timestamptz[]) AS w (endpoint_id, room, since)
      JOIN endpoints p ON p.id = w.endpoint_id
    WHERE ${isReceiving('p')}
  ), due AS MATERIALIZED (
    SELECT d.* FROM wanted CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND ${UNCLAIMED}
        AND next_attempt_at BETWEEN wanted.since AND $3 AND id <> ALL ($6::bigint[])
      ORDER BY next_attempt_at LIMIT wanted.room
      FOR UPDATE SKIP LOCKED
    ) d
  ), manual AS MATERIALIZED (
    SELECT d.* FROM wanted CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE endpoint_id = wanted.endpoint_id AND manual_at <= $3 AND ${UNCLAIMED}
        AND id <> ALL (ARRAY (SELECT id FROM due) || $6)
      ORDER BY manual_at LIMIT 1
      FOR UPDATE SKIP LOCKED
    ) d
  )
  UPDATE deliveries d SET claim = $4, claimed_until = clock_timestamp() + $5::int * interval '1 ms'
  FROM events e, endpoints p
  WHERE d.id = ANY (ARRAY (SELECT id FROM due) || ARRAY (SELECT id FROM manual)) AND e.id = d.event_id AND p.id = d.endpoint_id
  RETURNING d.id, d.claim, d.attempt_count AS "attemptCount", d.attempt_count - d.manual_attempts AS "scheduledAttempts",
    d.id = ANY (ARRAY (SELECT id FROM manual)) AS manual,
    ${inMs('CASE WHEN d.id = ANY (ARRAY (SELECT id FROM manual)) THEN d.manual_at ELSE d.next_attempt_at END')} AS "dueAt",
    ${inMs('d.created_at')} AS "storedAt", d.endpoint_id AS "endpointId", p.url, ${sealedSecretsOf('p')},
    e.id AS "eventId", e.account_key AS "accountKey", e.number AS sequence, e.lead_version AS "leadVersion", e.traceparent,
    ${WITH_ATTRIBUTES} AS "withAttributes",
    octet_length(${BODY}) AS "bodyBytes", CASE WHEN octet_length(${BODY}) <= ${LARGE_BYTES} THEN ${BODY} ELSE '' END AS body`

/**
 * Claims up to `rooms` deliveries for each endpoint that are due at `now`, the longest due first, and one with a manual attempt, so that
 * neither kind waits for all of the other. What was due before `from` is passed over: while an old snapshot is open, PostgreSQL keeps
 * each delivery that was claimed and done since. Nothing is claimed for a disabled or deleted endpoint, whatever the rows still say.
 */
export const claimDeliveries = (
  database: Transaction,
  options: {
    rooms: Map<number, number>
    from: Map<number, number>
    now: Date
    except: number[]
    claim: Claim
  },
): Promise<ClaimedDelivery[]> => {
  const { rooms, from, now, except, claim } = options
  const ids = [...rooms.keys()]
  const since = ids.map((id) => new Date(from.get(id) ?? 0))
  return claimStatement(database, ids, [...rooms.values()], now, claim.number, claim.validMs, except, since)
}
