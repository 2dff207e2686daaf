import type { Transaction } from '@leadwire/service-kit'
import { isReceiving, UNCLAIMED } from '../delivery-sql'
import { statement } from '../statement'
import type { DueEndpoint } from './claim'

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

const findDue = statement<{ endpoint_id: number; account_id: number; due_at: string }>('find-due-endpoints')`
  WITH RECURSIVE soon AS MATERIALIZED (
    SELECT endpoint_id, next_attempt_at FROM deliveries
    WHERE status = 'pending' AND next_attempt_at BETWEEN $2 AND $1 AND ${UNCLAIMED}
    ORDER BY next_attempt_at LIMIT ${SOON}
  ), ${firstOfEach(
    'scheduled',
    'next_attempt_at',
    "d.status = 'pending' AND d.next_attempt_at >= $2",
    `AND (SELECT count(*) FROM soon) = ${SOON}`,
  )}, ${firstOfEach('manual', 'manual_at', 'd.manual_at IS NOT NULL', '')}
  SELECT endpoint_id, account_id, due_at FROM (
    SELECT endpoint_id, min(next_attempt_at) AS due_at FROM soon GROUP BY endpoint_id
    UNION ALL
    SELECT endpoint_id, next_attempt_at FROM scheduled WHERE next_attempt_at <= $1
    UNION ALL
    SELECT endpoint_id, manual_at FROM manual WHERE manual_at <= $1
  ) found JOIN endpoints p ON p.id = endpoint_id WHERE ${isReceiving('p')}`

/**
 * The endpoints with an unclaimed delivery that is due by `until`, scheduled or manual, each with one or more due times, the
 * earliest among them. Deliveries that were due before `from` are passed over.
 *
 * Usually little is due, and a short range of the index by time finds all. When it does not, every endpoint that waits is probed.
 * The same happens while the deliveries of a disabled or deleted endpoint are out of sync: they may fill the short range.
 */
export const findDueEndpoints = async (
  database: Transaction,
  until: Date,
  from = new Date(0),
): Promise<DueEndpoint[]> => {
  const rows = await findDue(database, until, from)
  return rows.map(({ endpoint_id: endpointId, account_id: accountId, due_at }) => ({
    ...{ endpointId, accountId, dueAt: Date.parse(due_at) },
  }))
}

const firstDue = statement<{ at: string }>('first-pending')`
  SELECT next_attempt_at AS at FROM deliveries WHERE status = 'pending' AND next_attempt_at IS NOT NULL
  ORDER BY next_attempt_at LIMIT 1`

/** When the first pending delivery is due, claimed or not. */
export const firstPending = async (database: Transaction): Promise<Date | undefined> => {
  const [first] = await firstDue(database)
  return first && new Date(first.at)
}
