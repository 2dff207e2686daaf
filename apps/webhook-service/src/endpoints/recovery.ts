import type { Recovery } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { below, LAST, NEWEST_FIRST, readInOrder } from './delivery-ranges'

/** A count stops here. */
export const COUNTED_AT_MOST = 10_000

/** SQL: whether a recovery that is under way asks for the exhausted delivery that `alias` names, and has not marked it. */
export const isAsked = (alias: string) => `EXISTS (
  SELECT FROM recoveries r WHERE r.endpoint_id = ${alias}.endpoint_id AND ${alias}.id > r.after_id
    AND ${alias}.created_at >= r.since AND ${alias}.updated_at <= r.asked_at
)`

const REMAINING = `
  WITH asked AS MATERIALIZED (SELECT min(since) AS since FROM recoveries WHERE endpoint_id = $1)
  SELECT asked.since,
    count(*) FILTER (WHERE by_hand_at IS NOT NULL OR ${isAsked('d')}) AS remaining,
    count(*) = ${COUNTED_AT_MOST} AND bool_and(d.created_at >= asked.since) AS "remainingCapped"
  FROM asked LEFT JOIN LATERAL (
    SELECT * FROM deliveries WHERE ${below('$1', "'exhausted'", LAST)} ${NEWEST_FIRST} LIMIT ${COUNTED_AT_MOST}
  ) d ON true
  WHERE asked.since IS NOT NULL GROUP BY asked.since`

/** What is left of what is recovered at an endpoint; undefined when nothing is. */
export const recoveryOf = (database: Database, endpointId: number): Promise<Recovery | undefined> =>
  database.transaction(async (tx) => {
    readInOrder(tx)
    const query = { name: 'recovery-of-endpoint', text: REMAINING, values: [endpointId] }
    return (await tx.query<Recovery>(query))[0]
  })
