import { statement } from '@leadwire/service-kit'
import { isReceiving, isUnclaimed, toMs } from '../../delivery-sql'

export interface DueEndpoint {
  endpointId: number
  accountId: number
  /** When a delivery of the endpoint became or becomes due, in milliseconds since 1970. */
  dueAt: number
}

/** How many deliveries are read in the order of their due times before endpoints are probed one by one. */
const SOON = 500

const UNCLAIMED = isUnclaimed(':claimMs::int')

/**
 * SQL: the first unclaimed delivery of each endpoint. This is a loose index scan: one probe for each
 * endpoint, however many deliveries the endpoint has. `start` is an additional condition for the first probe.
 */
const selectFirstOfEach = (name: string, at: string, condition: string, start: string) => `
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

const SCHEDULED = "d.status = 'pending' AND d.next_attempt_at >= :from"
const IF_MORE_IS_DUE = `AND (SELECT count(*) FROM soon) = ${SOON}`

/** The due times that a poll reads, and the length of a claim in milliseconds. */
interface DueRange {
  from: Date
  until: Date
  claimMs: number
}

/**
 * Finds the endpoints with an unclaimed delivery that is due between `from` and `until`. An endpoint may be
 * found several times with different due times. Usually `soon`, a short range of the index by time, contains
 * all due scheduled attempts. If `soon` reaches its limit, each endpoint with pending deliveries is probed.
 */
export const findDueEndpoints = statement<DueEndpoint, DueRange>('find-due-endpoints')`
  WITH RECURSIVE soon AS MATERIALIZED (
    SELECT endpoint_id, next_attempt_at FROM deliveries
    WHERE status = 'pending' AND next_attempt_at BETWEEN :from AND :until AND ${UNCLAIMED}
    ORDER BY next_attempt_at LIMIT ${SOON}
  ), ${selectFirstOfEach('scheduled', 'next_attempt_at', SCHEDULED, IF_MORE_IS_DUE)},
  ${selectFirstOfEach('manual', 'manual_at', 'd.manual_at IS NOT NULL', '')}
  SELECT endpoint_id AS "endpointId", account_id AS "accountId", ${toMs('due_at')} AS "dueAt"
  FROM (
    SELECT endpoint_id, min(next_attempt_at) AS due_at FROM soon GROUP BY endpoint_id
    UNION ALL
    SELECT endpoint_id, next_attempt_at FROM scheduled WHERE next_attempt_at <= :until
    UNION ALL
    SELECT endpoint_id, manual_at FROM manual WHERE manual_at <= :until
  ) found JOIN endpoints p ON p.id = endpoint_id WHERE ${isReceiving('p')}`

/** Finds the earliest due time of all pending deliveries, whether they are claimed or not. */
export const findFirstPending = statement<{ at: string }>('first-pending')`
  SELECT next_attempt_at AS at FROM deliveries WHERE status = 'pending' AND next_attempt_at IS NOT NULL
  ORDER BY next_attempt_at LIMIT 1`

/**
 * Returns one row if a delivery with a valid claim is among the first deliveries that are due in the range.
 */
export const findClaimed = statement<object, DueRange>('find-claimed')`
  SELECT FROM (
    (SELECT claimed_until FROM deliveries WHERE status = 'pending' AND next_attempt_at BETWEEN :from AND :until
     ORDER BY next_attempt_at LIMIT ${SOON})
    UNION ALL
    (SELECT claimed_until FROM deliveries WHERE manual_at <= :until LIMIT ${SOON})
  ) d WHERE NOT ${UNCLAIMED} LIMIT 1`

/**
 * Creates a list of endpoints with their due times in memory. The list may be out of date: if another process
 * has claimed the due deliveries, a claim finds nothing.
 */
export const createDueEndpoints = () => {
  // The due time of each endpoint, by account. Accounts and endpoints move to the end when they are served,
  // so the first entries of each map are served next.
  const accounts = new Map<number, Map<number, number>>()
  return {
    add: ({ endpointId, accountId, dueAt }: DueEndpoint): void => {
      const endpoints = accounts.get(accountId) ?? new Map<number, number>()
      accounts.set(accountId, endpoints)
      endpoints.set(endpointId, Math.min(dueAt, endpoints.get(endpointId) ?? dueAt))
    },
    /** Removes the endpoints of `served`. Returns the due time of each removed endpoint. */
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
    /**
     * Returns the endpoints that are due at `now`, by account, and the time when the next endpoint is due.
     */
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
