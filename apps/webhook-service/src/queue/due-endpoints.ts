import { statement } from '@leadwire/service-kit'
import { inMs, isReceiving, UNCLAIMED } from '../delivery-sql'

export interface DueEndpoint {
  endpointId: number
  accountId: number
  /** When it is due, in milliseconds since 1970. */
  dueAt: number
}

/** Deliveries that are read in the order of their due time, before endpoints are probed one by one. */
const SOON = 500

// A loose index scan: one probe for each endpoint, however many deliveries wait behind its first, and past those that are claimed.
const firstOfEach = (name: string, at: string, condition: string, start: string) => `
  ${name} AS (
    (SELECT endpoint_id, ${at} FROM deliveries d WHERE ${condition} AND ${UNCLAIMED} ${start}
     ORDER BY endpoint_id, ${at} LIMIT 1)
    UNION ALL
    SELECT following.* FROM ${name} before CROSS JOIN LATERAL (
      SELECT d.endpoint_id, d.${at} FROM deliveries d
      WHERE ${condition} AND ${UNCLAIMED} AND d.endpoint_id > before.endpoint_id
      ORDER BY d.endpoint_id, d.${at} LIMIT 1
    ) following
  )`

const SCHEDULED = "d.status = 'pending' AND d.next_attempt_at >= $2"
const IF_MORE_IS_DUE = `AND (SELECT count(*) FROM soon) = ${SOON}`

/**
 * The endpoints with an unclaimed delivery that is due at $1 at the latest and at $2 at the earliest, each with one or more due times. Usually a short range
 * of the index by time finds all. When more is due, or deliveries are out of sync, every endpoint that waits is probed.
 */
export const findDueEndpoints = statement<DueEndpoint>('find-due-endpoints')`
  WITH RECURSIVE soon AS MATERIALIZED (
    SELECT endpoint_id, next_attempt_at FROM deliveries
    WHERE status = 'pending' AND next_attempt_at BETWEEN $2 AND $1 AND ${UNCLAIMED}
    ORDER BY next_attempt_at LIMIT ${SOON}
  ), ${firstOfEach('scheduled', 'next_attempt_at', SCHEDULED, IF_MORE_IS_DUE)},
  ${firstOfEach('manual', 'manual_at', 'd.manual_at IS NOT NULL', '')}
  SELECT endpoint_id AS "endpointId", account_id AS "accountId", ${inMs('due_at')} AS "dueAt"
  FROM (
    SELECT endpoint_id, min(next_attempt_at) AS due_at FROM soon GROUP BY endpoint_id
    UNION ALL
    SELECT endpoint_id, next_attempt_at FROM scheduled WHERE next_attempt_at <= $1
    UNION ALL
    SELECT endpoint_id, manual_at FROM manual WHERE manual_at <= $1
  ) found JOIN endpoints p ON p.id = endpoint_id WHERE ${isReceiving('p')}`

/** When the first pending delivery is due, claimed or not. */
export const firstPending = statement<{ at: string }>('first-pending')`
  SELECT next_attempt_at AS at FROM deliveries WHERE status = 'pending' AND next_attempt_at IS NOT NULL
  ORDER BY next_attempt_at LIMIT 1`

/** Answers with a row where an attempt is claimed that is due at $1 at the latest and at $2 at the earliest, among as many as `soon` has. */
export const findClaimed = statement('find-claimed')`
  SELECT FROM (
    (SELECT claimed_until FROM deliveries WHERE status = 'pending' AND next_attempt_at BETWEEN $2 AND $1
     ORDER BY next_attempt_at LIMIT ${SOON})
    UNION ALL
    (SELECT claimed_until FROM deliveries WHERE manual_at <= $1 LIMIT ${SOON})
  ) d WHERE NOT ${UNCLAIMED} LIMIT 1`

/** When endpoints have a delivery that is due, as far as this process knows. The next poll corrects it. */
export const createDueEndpoints = () => {
  // By account, the due time of each endpoint. In the order of turns: accounts and endpoints that were served go to the end.
  const accounts = new Map<number, Map<number, number>>()
  return {
    add: ({ endpointId, accountId, dueAt }: DueEndpoint): void => {
      const endpoints = accounts.get(accountId) ?? new Map<number, number>()
      accounts.set(accountId, endpoints)
      endpoints.set(endpointId, Math.min(dueAt, endpoints.get(endpointId) ?? dueAt))
    },
    /** Removes the endpoints that are served now. Answers with the due time of each. */
    take: (served: Map<number, unknown>): Map<number, number> => {
      const taken = new Map<number, number>()
      for (const [accountId, endpoints] of [...accounts]) {
        const ofAccount = [...endpoints].filter(([id]) => served.has(id))
        if (ofAccount.length === 0) continue
        for (const [id, dueAt] of ofAccount) {
          taken.set(id, dueAt)
          endpoints.delete(id)
        }
        accounts.delete(accountId)
        if (endpoints.size > 0) accounts.set(accountId, endpoints)
      }
      return taken
    },
    /** The endpoints due by `now`, by account, and the due time of the next one. */
    at: (now: number): { due: Map<number, number[]>; next: number } => {
      const due = new Map<number, number[]>()
      let next = Number.POSITIVE_INFINITY
      for (const [accountId, endpoints] of accounts) {
        const ofAccount: number[] = []
        for (const [endpointId, dueAt] of endpoints)
          if (dueAt <= now) ofAccount.push(endpointId)
          else next = Math.min(next, dueAt)
        if (ofAccount.length > 0) due.set(accountId, ofAccount)
      }
      return { due, next }
    },
  }
}
