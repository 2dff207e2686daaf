import { type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'
import { Counter } from 'prom-client'
import type { Clock } from '../clock'
import type { ClaimedDelivery } from '../delivery/claim/claim-deliveries'
import type { Unmade } from '../delivery/record/record-attempts'
import type { MailOutcome, Refusal } from './notify-user'

/**
 * The first pause after a temporary refusal. If the server refuses again after a pause, the pause doubles.
 */
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000
/**
 * A refused message waits for this fraction of its age. So a message that is always refused stops the other
 * messages less and less often.
 */
const WAIT_PER_AGE = 1 / 4
/** The longest time that a refused message waits. */
export const LONGEST_WAIT_MS = 15 * 60_000
/**
 * A temporary refusal counts as an attempt if the message is older than this. The sending limits of mail
 * servers apply to at most a day, so an older message is refused for another reason.
 */
const UNCOUNTED_MS = 24 * 3_600_000
const LOG_EVERY_MS = 60_000

const postpone = statement('postpone-notification')`
  UPDATE deliveries SET claim = NULL, claimed_until = NULL, updated_at = clock_timestamp(),
    next_attempt_at = CASE
      WHEN next_attempt_at IS NULL OR :manual::boolean THEN next_attempt_at ELSE :retryAt::timestamptz
    END,
    manual_at = CASE WHEN manual_at IS NOT NULL AND :manual THEN :retryAt ELSE manual_at END
  WHERE id = :id AND claim = :claim`

/** Creates a function that counts refusals, and logs each kind of refusal at most once a minute. */
const createReport = ({ logger, metrics }: { logger: Logger; metrics: Metrics }) => {
  const refusals = new Counter({
    name: 'leadwire_notification_refusals_total',
    help: 'Refusals by the mail server that do not concern a single message, by reason: "for now" (temporary) or "account" (connection, login, sender or quota).',
    labelNames: ['reason'],
    registers: [metrics],
  })
  const reports = new Map<Refusal, { count: number; dueAt: number }>()
  return (reason: Refusal, status: number | null) => {
    refusals.inc({ reason })
    const report = reports.get(reason) ?? { count: 0, dueAt: 0 }
    reports.set(reason, report)
    report.count += 1
    if (performance.now() < report.dueAt) return
    const figures = { status, count: report.count }
    if (reason === 'for now') logger.error(figures, 'the mail server temporarily refuses messages')
    else logger.error(figures, 'the mail server refuses the connection, login, sender or quota')
    report.count = 0
    report.dueAt = performance.now() + LOG_EVERY_MS
  }
}

/**
 * Creates a function that sends a message, and pauses all messages of this process while the mail server
 * temporarily refuses them. A temporary refusal does not count as an attempt. The refused message is sent
 * again after the pause. The pause doubles until the server accepts a message, or refuses a message for
 * another reason.
 */
export const createMailHold = (options: {
  database: Database
  clock: Clock
  logger: Logger
  metrics: Metrics
}) => {
  const { database, clock } = options
  const report = createReport(options)
  let pauseMs = 0
  let pausedUntil = 0

  return async (
    delivery: ClaimedDelivery,
    send: () => Promise<MailOutcome>,
  ): Promise<MailOutcome | Unmade> => {
    const startedAt = performance.now()
    const outcome = await send()
    const { refusal, status } = outcome
    if (refusal) report(refusal, status)
    if (refusal !== 'for now') {
      if (status !== null) pauseMs = 0
      return outcome
    }
    const now = clock.now().getTime()
    const ageMs = Math.max(0, now - delivery.storedAt)
    if (ageMs > UNCOUNTED_MS) return outcome
    // If several messages in flight are refused, the pause is doubled only once.
    if (startedAt >= pausedUntil) {
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pauseMs))
      pausedUntil = performance.now() + pauseMs
    }
    const remainingMs = Math.max(0, pausedUntil - performance.now())
    const waitMs = Math.max(remainingMs, Math.min(LONGEST_WAIT_MS, WAIT_PER_AGE * ageMs))
    const retryAt = new Date(now + waitMs)
    const { id, claim, manual } = delivery
    await postpone(database, { id, claim, manual, retryAt })
    return { retryAt, pauseMs: remainingMs }
  }
}
