import type { OldSecret } from '../attempt/signing-secrets'
import { LARGE_BODY_BYTES } from './bodies-in-hand'
import type { WorkerSession } from './worker-session'

/** A delivery that this worker may attempt, with all that the attempt needs, as it was when it was claimed. */
export interface ClaimedDelivery {
  id: number
  /** The worker that claimed it and the fencing number: a result under others comes too late and changes nothing. */
  claimedBy: number
  claim: number
  /** Attempts made before, of both kinds. */
  attemptCount: number
  /** Those of them that the schedule made. */
  scheduledAttempts: number
  /** Whether somebody asked for this attempt; it is none of the schedule's then. */
  byHand: boolean
  dueAt: number
  endpointId: number
  url: string
  secret: string
  oldSecrets: OldSecret[]
  eventId: string
  accountKey: string
  /** Shared by the deliveries of its event. */
  body: Buffer
  traceparent: string | null
  storedAt: number
}

/** Large bodies in hand, of all accounts and of one: whoever waits for a receiver leaves room for the others. */
const BYTES_IN_HAND = 64 * 1024 * 1024
const BYTES_OF_ACCOUNT = 16 * 1024 * 1024

interface Row {
  id: number
  claim: number
  attempt_count: number
  by_hand_attempts: number
  by_hand: boolean
  due_at: string
  endpoint_id: number
  url: string
  secret: string
  old_secrets: OldSecret[]
  event_id: string
  account_key: string
  body: Buffer | null
  traceparent: string | null
  stored_at: string
}

/**
 * Claims up to `rooms` deliveries for each endpoint that are due at `now`, the longest due first, and beside them one
 * whose attempt was asked for by hand: so neither those nor what is on schedule wait for all of the others.
 *
 * A body is read once for all deliveries of its event, and not at all when it is in hand. Of events with large bodies only
 * those are claimed that fit in beside what is in hand, and always one where an account has none: the rest stays due.
 */
export const claimDeliveries = async (
  session: WorkerSession,
  { rooms, now, inHand }: { rooms: Map<number, number>; now: Date; inHand: Map<string, Buffer> },
): Promise<ClaimedDelivery[]> => {
  const rows = await session.query<Row>({
    name: 'claim-deliveries',
    // The ids as an array: the planner then takes the primary key, whatever it believes of the LIMITs.
    text: `
      WITH due AS MATERIALIZED (
        SELECT d.* FROM unnest($1::bigint[], $2::int[]) AS wanted (endpoint_id, room) CROSS JOIN LATERAL (
          SELECT id, event_id, false AS by_hand FROM deliveries
          WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND claimed_by IS NULL
            AND next_attempt_at <= $3
          ORDER BY next_attempt_at LIMIT wanted.room
          FOR UPDATE SKIP LOCKED
        ) d
      ), by_hand AS MATERIALIZED (
        SELECT d.* FROM unnest($1::bigint[]) AS wanted (endpoint_id) CROSS JOIN LATERAL (
          SELECT id, event_id, true AS by_hand FROM deliveries
          WHERE endpoint_id = wanted.endpoint_id AND by_hand_at <= $3 AND claimed_by IS NULL
            AND id <> ALL (ARRAY (SELECT id FROM due))
            AND (SELECT enabled AND deleted_at IS NULL FROM endpoints WHERE id = wanted.endpoint_id)
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
      UPDATE deliveries d SET claimed_by = $4, claim = d.claim + 1
      FROM events e, endpoints p
      WHERE d.id = ANY (ARRAY (SELECT id FROM fitting)) AND e.id = d.event_id AND p.id = d.endpoint_id
      RETURNING d.id, d.claim, d.attempt_count, d.by_hand_attempts, d.endpoint_id, p.url, p.secret, p.old_secrets,
        d.id = ANY (ARRAY (SELECT id FROM by_hand)) AS by_hand,
        CASE WHEN d.id = ANY (ARRAY (SELECT id FROM by_hand)) THEN d.by_hand_at ELSE d.next_attempt_at END AS due_at,
        e.id AS event_id, e.account_key, e.traceparent, e.created_at AS stored_at,
        CASE WHEN d.id = ANY (ARRAY (SELECT id FROM fitting WHERE with_body)) THEN e.body END AS body`,
    values: [[...rooms.keys()], [...rooms.values()], now.toISOString(), session.workerId, [...inHand.keys()]],
  })
  const bodies = new Map(inHand)
  for (const { event_id, body } of rows) if (body) bodies.set(event_id, body)
  return rows.map((row) => ({
    id: row.id,
    claimedBy: session.workerId,
    claim: row.claim,
    attemptCount: row.attempt_count,
    scheduledAttempts: row.attempt_count - row.by_hand_attempts,
    byHand: row.by_hand,
    dueAt: Date.parse(row.due_at),
    endpointId: row.endpoint_id,
    url: row.url,
    secret: row.secret,
    oldSecrets: row.old_secrets,
    eventId: row.event_id,
    accountKey: row.account_key,
    body: bodies.get(row.event_id)!,
    traceparent: row.traceparent,
    storedAt: Date.parse(row.stored_at),
  }))
}
