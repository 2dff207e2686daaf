import { type Database, type Round, statement } from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'

/** How many deliveries one statement makes due. */
const BATCH = 1000
/**
 * A margin that is added to the sum of the longest pause and the length of a claim (`computeLatestAttempt`).
 */
const BEYOND_MS = 60_000

interface Reset {
  now: Date
  latest: Date
}

// Searches the index of pending deliveries by due time. Usually no delivery matches, so the search is short.
const resetScheduled = statement<object, Reset>('reset-scheduled-attempts')`
  UPDATE deliveries SET next_attempt_at = :now WHERE id = ANY (ARRAY (
    SELECT id FROM deliveries WHERE status = 'pending' AND next_attempt_at > :latest::timestamptz
    LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  ))
  RETURNING id`

// Reads the whole index of manual attempts. This index is small, so the statement is fast.
const resetManual = statement<object, Reset>('reset-manual-attempts')`
  UPDATE deliveries SET manual_at = :now WHERE id = ANY (ARRAY (
    SELECT id FROM deliveries WHERE manual_at > :latest::timestamptz LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  ))
  RETURNING id`

/** Returns the latest time at which an attempt can be scheduled if the clock has not gone back. */
export const computeLatestAttempt = (
  { clock, longestPauseMs }: Pick<Dependencies, 'clock' | 'longestPauseMs'>,
  claimMs: number,
): Date => new Date(clock.now().getTime() + longestPauseMs + claimMs + BEYOND_MS)

/**
 * Makes attempts due now if they are scheduled later than the longest pause allows. Such attempts were
 * scheduled before PostgreSQL's clock went back, or with an earlier `WEBHOOK_RETRY_SCHEDULE` that had longer
 * pauses.
 */
export const resetFutureAttempts = async (dependencies: Dependencies): Promise<Round> => {
  const { database, notifications, clock, claimMs, wake } = dependencies
  const reset = async (tables: Database, longestClaimMs: number) => {
    const now = clock.now()
    const latest = computeLatestAttempt(dependencies, longestClaimMs)
    const [scheduled, manual] = await Promise.all([
      resetScheduled(tables, { now, latest }),
      resetManual(tables, { now, latest }),
    ])
    return scheduled.length + manual.length
  }
  const webhooks = await reset(database, claimMs.webhooks)
  const messages = await reset(notifications, claimMs.notifications)
  if (webhooks > 0) wake('webhooks')
  if (messages > 0) wake('notifications')
  return webhooks >= BATCH || messages >= BATCH
}
