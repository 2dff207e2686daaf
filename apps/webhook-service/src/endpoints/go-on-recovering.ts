import type { Database, OpenTransaction } from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'
import type { Clock } from '../clock'
import { above, OLDEST_FIRST, readInOrder } from './delivery-ranges'
import { isWaiting, isWhole } from './recovery'

/** A receiver that has just come back is not to be knocked over by its own backlog. */
const APART_MS = 100
/** Attempts by hand that wait at an endpoint at most before a recovery asks for more: those of ten seconds. */
const AHEAD = 100
/** Rows that one transaction looks through. */
const SCANNED = 5000

interface Row {
  id: number
  endpoint_id: number
  status: string
  since: string
  asked_at: string
  after_id: number
}

// One copy at a time, and of an endpoint one recovery after the other: so the pace is the same however often somebody asks.
const NEXT = `
  SELECT id, endpoint_id, status, since, asked_at, after_id FROM recoveries r
  WHERE next_at <= clock_timestamp()
    AND NOT EXISTS (SELECT FROM recoveries o WHERE o.endpoint_id = r.endpoint_id AND o.id < r.id)
  ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`

const WAITING = `
  SELECT count(*)::int AS count, max(by_hand_at) AS last FROM (
    SELECT by_hand_at FROM deliveries WHERE endpoint_id = $1 AND by_hand_at IS NOT NULL AND ${UNCLAIMED}
    ORDER BY by_hand_at DESC LIMIT ${AHEAD}
  ) waiting`

// Locked in the order of ids, as by every statement that locks many deliveries and waits.
const MARK = `
  WITH scanned AS MATERIALIZED (
    SELECT * FROM deliveries WHERE ${above('$1', '$8::text', '$2::bigint')} ${OLDEST_FIRST} LIMIT ${SCANNED}
  ), chosen AS MATERIALIZED (
    SELECT id FROM scanned s WHERE created_at >= $3 AND updated_at <= $4 AND ${isWaiting('s')} ORDER BY id LIMIT $5
  ), locked AS MATERIALIZED (
    SELECT id FROM deliveries d WHERE id = ANY (ARRAY (SELECT id FROM chosen))
      AND status = $8 AND updated_at <= $4 AND ${isWaiting('d')} AND ${isWhole('d')} ORDER BY id FOR UPDATE
  ), marked AS (
    UPDATE deliveries d SET
      by_hand_at = greatest($6::timestamptz, $7::timestamptz + ${APART_MS} * interval '1 ms')
        + (place - 1) * ${APART_MS} * interval '1 ms',
      updated_at = clock_timestamp()
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM locked) l WHERE d.id = l.id
  )
  SELECT (SELECT count(*) FROM chosen)::int AS chosen, CASE WHEN (SELECT count(*) FROM chosen) = $5
    THEN (SELECT max(id) FROM chosen) ELSE (SELECT max(id) FROM scanned) END AS last`

const mark = async (
  tx: OpenTransaction,
  { endpoint_id, status, since, asked_at, after_id }: Row,
  { room, after, now }: { room: number; after: string | null; now: Date },
) => {
  readInOrder(tx)
  const [row] = await tx.query<{ chosen: number; last: number | null }>({
    name: 'mark-to-recover',
    text: MARK,
    values: [endpoint_id, after_id, since, asked_at, room, now.toISOString(), after, status],
  })
  return row!
}

const goOn = async (tx: OpenTransaction, clock: Clock): Promise<boolean> => {
  const [recovery] = await tx.query<Row>({ name: 'next-recovery', text: NEXT })
  if (!recovery) return false
  const { id, endpoint_id: endpointId, after_id: afterId } = recovery
  const [waiting] = await tx.query<{ count: number; last: string | null }>({
    name: 'waiting-by-hand',
    text: WAITING,
    values: [endpointId],
  })
  const { count, last: after } = waiting!
  const room = AHEAD - count
  const { chosen, last } =
    room > 0 ? await mark(tx, recovery, { room, after, now: clock.now() }) : { chosen: 0, last: afterId }
  // Where nothing was left to scan it is over when the last of them was attempted.
  if (last === null && count === 0) tx.send({ text: 'DELETE FROM recoveries WHERE id = $1', values: [id] })
  else {
    const pauseMs = chosen > 0 || last === null || last === afterId ? 1000 : 0
    const text = `UPDATE recoveries SET after_id = $2, next_at = clock_timestamp() + $3 * interval '1 ms' WHERE id = $1`
    tx.send({ text, values: [id, last ?? afterId, pauseMs] })
  }
  return true
}

/**
 * Asks for manual attempts of deliveries that are to be recovered, as many as go within ten seconds: the oldest of each status
 * first, ten a second at each endpoint, behind those that were asked for before. They stand beside what is on schedule: of an endpoint
 * that can't keep up, each kind gets a share. Any copy may do so, and stop at any moment. Resolves with whether there may be more.
 */
export const goOnRecovering = (database: Database, { clock }: { clock: Clock }): Promise<boolean> =>
  database.transaction((tx) => goOn(tx, clock))
