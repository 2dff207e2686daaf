import { randomInt } from 'node:crypto'
import { columnsByName, type Database, statement } from '@leadwire/service-kit'
import { BODY, isReceiving, isUnclaimed, toMs, WITH_ATTRIBUTES } from '../../delivery-sql'
import { selectSealedSecrets } from '../../endpoints/secrets/sealed-secrets'
import { LARGE_BYTES } from '../attempt/large-bodies'
import type { Webhook } from '../attempt/webhook-headers'
import type { DueEndpoint } from './due-endpoints'

/**
 * A lease: the right to attempt deliveries for a limited time, measured by the database's clock. After this
 * time, other processes may claim the deliveries. The number fences results: the record step ignores a result
 * if the delivery has another claim number by then.
 */
export interface Claim {
  number: number
  validMs: number
}

/**
 * Creates a claim with a random number. A counter could give the same number to two deliveries with the same
 * id: if a crash of the database loses a delivery, a new delivery may get its id.
 */
export const newClaim = (validMs: number): Claim => ({ number: randomInt(2 ** 31), validMs })

export interface ClaimedDelivery extends Webhook, DueEndpoint {
  id: number
  eventType: string
  /** The length of the body. A large body is read later, and `body` is empty until then. */
  bodyBytes: number
  withAttributes: boolean
  claim: number
  /** How many attempts, scheduled and manual, were recorded before this attempt. */
  attemptCount: number
  scheduledAttempts: number
  /** Whether the attempt is a manual attempt, outside the schedule. */
  manual: boolean
  /** When the delivery was created, in milliseconds since 1970. */
  storedAt: number
}

const UNCLAIMED = isUnclaimed(':claimMs::int')

// Locks up to `room` deliveries of each endpoint for scheduled attempts, and at most one more for a manual
// attempt. `room` does not count the manual attempt, so that scheduled and manual attempts do not wait for
// each other. `NOT IN` looks up an id in a hash table. With `<> ALL`, PostgreSQL compared the id of each row
// that it read, claimed rows included, with up to a thousand ids. This took 65 µs for each delivery that was
// claimed from a backlog.
const lockDue = statement<{ id: number; manual: boolean }>('lock-due-deliveries')`
  WITH unrecorded AS (
    SELECT unnest(:except::bigint[]) AS id
  ), wanted AS MATERIALIZED (
    SELECT w.* FROM unnest(:endpointId::bigint[], :room::int[], :since::timestamptz[]) AS w (endpoint_id, room, since)
    JOIN endpoints p ON p.id = w.endpoint_id WHERE ${isReceiving('p')}
  ), due AS MATERIALIZED (
    SELECT d.id FROM wanted CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND ${UNCLAIMED}
        AND next_attempt_at BETWEEN wanted.since AND :now AND id NOT IN (SELECT id FROM unrecorded)
      ORDER BY next_attempt_at LIMIT wanted.room FOR UPDATE SKIP LOCKED
    ) d
  ), manual AS MATERIALIZED (
    SELECT d.id FROM wanted CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE endpoint_id = wanted.endpoint_id AND manual_at <= :now AND ${UNCLAIMED}
        AND id NOT IN (SELECT id FROM due UNION ALL SELECT id FROM unrecorded)
      ORDER BY manual_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) d
  )
  SELECT id, false AS manual FROM due UNION ALL SELECT id, true FROM manual`

const claimLocked = statement<ClaimedDelivery>('claim-deliveries')`
  UPDATE deliveries d SET claim = :claim, claimed_until = clock_timestamp() + :claimMs::int * interval '1 ms'
  FROM unnest(:id::bigint[], :manual::boolean[]) AS l (id, manual), events e, endpoints p
  WHERE d.id = l.id AND e.id = d.event_id AND p.id = d.endpoint_id
  RETURNING d.id, d.claim, d.attempt_count AS "attemptCount", d.attempt_count - d.manual_attempts AS "scheduledAttempts",
    l.manual, ${toMs('CASE WHEN l.manual THEN d.manual_at ELSE d.next_attempt_at END')} AS "dueAt",
    ${toMs('d.created_at')} AS "storedAt", d.endpoint_id AS "endpointId", p.url, ${selectSealedSecrets('p')},
    e.id AS "eventId", e.type AS "eventType", e.account_key AS "accountKey", e.number AS sequence,
    e.lead_version AS "leadVersion", e.traceparent, ${WITH_ATTRIBUTES} AS "withAttributes",
    octet_length(${BODY}) AS "bodyBytes", CASE WHEN octet_length(${BODY}) <= ${LARGE_BYTES} THEN ${BODY} ELSE '' END AS body`

export interface ClaimRequest {
  /** How many scheduled deliveries to claim at each endpoint, at most. */
  rooms: Map<number, number>
  /** The earliest due time to read at each endpoint, in milliseconds since 1970. */
  from: Map<number, number>
  now: Date
  /** Deliveries whose attempts have ended and are not recorded yet. */
  except: number[]
  claim: Claim
}

/**
 * Claims due deliveries, the longest due first. Claims nothing at a disabled or deleted endpoint, even if its
 * deliveries still have the status pending. Skips scheduled deliveries that were due before `from`: while an
 * old snapshot is open, this part of the index is full of entries of deliveries that are already delivered.
 */
export const claimDeliveries = async (
  database: Database,
  { rooms, from, now, except, claim }: ClaimRequest,
): Promise<ClaimedDelivery[]> => {
  const endpointId = [...rooms.keys()]
  const { claimed } = await database.transaction(async (tx) => {
    const locked = await lockDue(tx, {
      endpointId,
      room: [...rooms.values()],
      since: endpointId.map((id) => new Date(from.get(id) ?? 0)),
      now,
      except,
      claimMs: claim.validMs,
    })
    if (locked.length === 0) return { claimed: [] }
    // Does not await the rows here, so that COMMIT follows at once.
    return {
      claimed: claimLocked(tx, {
        ...columnsByName(locked, 'id', 'manual'),
        claim: claim.number,
        claimMs: claim.validMs,
      }),
    }
  })
  return claimed
}
