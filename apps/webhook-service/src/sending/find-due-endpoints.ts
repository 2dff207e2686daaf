import type { Transaction } from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'
import { isReceiving } from '../endpoints/shown-status'
import type { DueEndpoint } from './due-endpoints'

// So many deliveries are looked through in the order of their time.
const FEW = 500

/**
 * Which endpoints have a delivery that is due by `until`, on schedule or by hand, and on which nobody has a valid claim, each
 * with its earliest of either kind, or with several of them.
 *
 * Mostly little is due, and a short range of the index by time says all. When that was not everything, one probe is made
 * for each endpoint that waits for anything (a loose index scan, which PostgreSQL before 18 does not make by itself),
 * however many deliveries wait behind the first, and past those that are claimed. So it is too while the rows of an endpoint that
 * was disabled or deleted wait to be moved (`settle-endpoints.ts`): they may be all that the short range has.
 */
export const findDueEndpoints = async (
  database: Transaction,
  until: Date,
  /** What is due earlier is passed over. */
  from = new Date(0),
): Promise<DueEndpoint[]> => {
  const rows = await database.query<{ endpoint_id: number; account_id: number; due_at: string }>({
    name: 'find-due-endpoints',
    text: `
      WITH RECURSIVE soon AS MATERIALIZED (
        SELECT endpoint_id, next_attempt_at FROM deliveries
        WHERE status = 'pending' AND next_attempt_at BETWEEN $2 AND $1 AND ${UNCLAIMED}
        ORDER BY next_attempt_at LIMIT ${FEW}
      ), first AS (
        (SELECT endpoint_id, next_attempt_at FROM deliveries
         WHERE status = 'pending' AND next_attempt_at >= $2 AND ${UNCLAIMED}
           AND (SELECT count(*) FROM soon) = ${FEW}
         ORDER BY endpoint_id, next_attempt_at LIMIT 1)
        UNION ALL
        SELECT following.* FROM first CROSS JOIN LATERAL (
          SELECT d.endpoint_id, d.next_attempt_at FROM deliveries d
          WHERE d.status = 'pending' AND d.next_attempt_at >= $2 AND ${UNCLAIMED}
            AND d.endpoint_id > first.endpoint_id
          ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1
        ) following
      ), by_hand AS (
        (SELECT endpoint_id, by_hand_at FROM deliveries
         WHERE by_hand_at IS NOT NULL AND ${UNCLAIMED}
         ORDER BY endpoint_id, by_hand_at LIMIT 1)
        UNION ALL
        SELECT following.* FROM by_hand CROSS JOIN LATERAL (
          SELECT d.endpoint_id, d.by_hand_at FROM deliveries d
          WHERE d.by_hand_at IS NOT NULL AND ${UNCLAIMED} AND d.endpoint_id > by_hand.endpoint_id
          ORDER BY d.endpoint_id, d.by_hand_at LIMIT 1
        ) following
      )
      SELECT endpoint_id, account_id, due_at FROM (
        SELECT endpoint_id, min(next_attempt_at) AS due_at FROM soon GROUP BY endpoint_id
        UNION ALL
        SELECT endpoint_id, next_attempt_at FROM first WHERE next_attempt_at <= $1
        UNION ALL
        SELECT endpoint_id, by_hand_at FROM by_hand WHERE by_hand_at <= $1
      ) found JOIN endpoints p ON p.id = endpoint_id WHERE ${isReceiving('p')}`,
    values: [until.toISOString(), from.toISOString()],
  })
  return rows.map(({ endpoint_id: endpointId, account_id: accountId, due_at }) => ({
    ...{ endpointId, accountId },
    dueAt: Date.parse(due_at),
  }))
}

/** When the first pending delivery is due, also of those that somebody has claimed. */
export const firstPending = async (database: Transaction): Promise<Date | undefined> => {
  const [first] = await database.query<{ at: string }>({
    name: 'first-pending',
    text: `SELECT next_attempt_at AS at FROM deliveries WHERE status = 'pending' AND next_attempt_at IS NOT NULL
           ORDER BY next_attempt_at LIMIT 1`,
  })
  return first && new Date(first.at)
}
