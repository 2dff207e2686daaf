import type { Transaction } from '@leadwire/service-kit'
import type { Webhook } from '../attempt/webhook-headers'
import { type Claim, UNCLAIMED } from '../claim'
import { storedSecrets } from '../endpoints/sealed-secrets'
import { isReceiving } from '../endpoints/shown-status'
import { LARGE_BODY_BYTES } from './bodies-in-hand'

/** A delivery that this process may attempt, with all that the attempt needs, as it was when it was claimed. */
export interface ClaimedDelivery extends Webhook {
  id: number
  /** The number of the claim. */
  claim: number
  /** Attempts made before, of both kinds. */
  attemptCount: number
  /** Those of them that the schedule made. */
  scheduledAttempts: number
  /** Whether somebody asked for this attempt; it is none of the schedule's then. */
  byHand: boolean
  /** ISO timestamps. */
  dueAt: string
  storedAt: string
  endpointId: number
}

/** Large bodies in hand, of all accounts and of one: whoever waits for a receiver leaves room for the others. */
const BYTES_IN_HAND = 64 * 1024 * 1024
const BYTES_OF_ACCOUNT = 16 * 1024 * 1024

/**
 * Claims up to `rooms` deliveries for each endpoint that are due at `now`, the longest due first, and beside them one
 * whose attempt was asked for by hand: so neither those nor what is on schedule wait for all of the others.
 *
 * Nothing is claimed for an endpoint that is disabled or deleted, whatever the rows of its deliveries still say.
 *
 * A body is read once for all deliveries of its event, and not at all when it is in hand. Of events with large bodies only
 * those are claimed that fit in beside what is in hand, and always one where an account has none: the rest stays due.
 */
export const claimDeliveries = async (
  database: Transaction,
  options: {
    rooms: Map<number, number>
    now: Date
    inHand: Map<string, Buffer>
    /** Deliveries that are not claimed. */
    except: number[]
    claim: Claim
  },
): Promise<ClaimedDelivery[]> => {
  const { rooms, now, inHand, except, claim } = options
  const rows = await database.query<Omit<ClaimedDelivery, 'body'> & { body: Buffer | null }>({
    name: 'claim-deliveries',
    // The ids as an array: the planner then takes the primary key, whatever it believes of the LIMITs.
    text: `
      WITH wanted AS MATERIALIZED (
        SELECT w.endpoint_id, w.room FROM unnest($1::bigint[], $2::int[]) AS w (endpoint_id, room)
          JOIN endpoints p ON p.id = w.endpoint_id
        WHERE ${isReceiving('p')}
      ), due AS MATERIALIZED (
        SELECT d.* FROM wanted CROSS JOIN LATERAL (
          SELECT id, event_id, false AS by_hand FROM deliveries
          WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND ${UNCLAIMED}
            AND next_attempt_at <= $3 AND id <> ALL ($7::bigint[])
          ORDER BY next_attempt_at LIMIT wanted.room
          FOR UPDATE SKIP LOCKED
        ) d
      ), by_hand AS MATERIALIZED (
        SELECT d.* FROM wanted CROSS JOIN LATERAL (
          SELECT id, event_id, true AS by_hand FROM deliveries
          WHERE endpoint_id = wanted.endpoint_id AND by_hand_at <= $3 AND ${UNCLAIMED}
            AND id <> ALL (ARRAY (SELECT id FROM due) || $7)
          ORDER BY by_hand_at LIMIT 1
          FOR UPDATE SKIP LOCKED
        ) d
      ), found AS MATERIALIZED (
        SELECT * FROM due UNION ALL SELECT * FROM by_hand
      ), large AS MATERIALIZED (
        SELECT id, account_id, octet_length(body) AS bytes, id = ANY ($5::uuid[]) AS in_hand FROM events
        WHERE id = ANY (ARRAY (SELECT event_id FROM found) || $5) AND octet_length(body) > ${LARGE_BODY_BYTES}
      ), too_large AS MATERIALIZED (
        SELECT id FROM (
          SELECT id, in_hand, sum(bytes) OVER (PARTITION BY account_id ORDER BY in_hand DESC, id) - bytes AS of_account,
            sum(bytes) OVER (ORDER BY in_hand DESC, id) - bytes AS of_all
          FROM large
        ) l WHERE NOT in_hand AND of_account > 0 AND (of_account >= ${BYTES_OF_ACCOUNT} OR of_all >= ${BYTES_IN_HAND})
      ), fitting AS MATERIALIZED (
        SELECT id, by_hand,
          event_id <> ALL ($5) AND row_number() OVER (PARTITION BY event_id ORDER BY id) = 1 AS with_body
        FROM found WHERE event_id <> ALL (ARRAY (SELECT id FROM too_large))
      )
      UPDATE deliveries d SET claim = $4, claimed_until = clock_timestamp() + $6::int * interval '1 ms'
      FROM events e, endpoints p
      WHERE d.id = ANY (ARRAY (SELECT id FROM fitting)) AND e.id = d.event_id AND p.id = d.endpoint_id
      RETURNING d.id, d.claim, d.attempt_count AS "attemptCount",
        d.attempt_count - d.by_hand_attempts AS "scheduledAttempts",
        d.id = ANY (ARRAY (SELECT id FROM by_hand)) AS "byHand",
        CASE WHEN d.id = ANY (ARRAY (SELECT id FROM by_hand)) THEN d.by_hand_at ELSE d.next_attempt_at END AS "dueAt",
        d.endpoint_id AS "endpointId", p.url, ${storedSecrets('p')},
        e.id AS "eventId", e.account_key AS "accountKey", e.traceparent, e.created_at AS "storedAt",
        CASE WHEN d.id = ANY (ARRAY (SELECT id FROM fitting WHERE with_body)) THEN e.body END AS body`,
    values: [
      [...rooms.keys()],
      [...rooms.values()],
      now.toISOString(),
      claim.number,
      [...inHand.keys()],
      claim.validMs,
      except,
    ],
  })
  const bodies = new Map(inHand)
  for (const { eventId, body } of rows) if (body) bodies.set(eventId, body)
  return rows.map((row) => Object.assign(row, { body: bodies.get(row.eventId)! }))
}
