import { DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'

// EAI_: no name server answers.
const UNAVAILABLE_CODES =
  /^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_\w+)$/
const UNAVAILABLE_MESSAGES =
  /Connection terminated|timeout exceeded|timeout expired|Query read timeout|Client has encountered a connection error|not queryable/i

// Class 08 connection, 28 a password (the next one may be valid), 53 resources, 57P administrator, 58 system, 40 serialisation and
// deadlock: trying again helps.
const UNAVAILABLE_STATES = /^(08|28|53|57P|58|40)/
const TIMED_OUT_STATES = /^(57014|55P03)$/

// The next statement on such a connection fails in the same way, and succeeds on another: a plan older than its table (0A000,
// the only one that ours can meet), a server that became a standby (25006), a statement that is no longer prepared (26000).
const UNUSABLE_STATES = /^(0A000|25006|26000)$/

const hasState = (error: unknown, ...states: RegExp[]): error is DatabaseError =>
  error instanceof DatabaseError && states.some((state) => state.test(error.code ?? ''))

export const isUnusable = (error: unknown): boolean =>
  hasState(error, UNUSABLE_STATES) ||
  (error instanceof Error && !(error instanceof DatabaseError) && UNAVAILABLE_MESSAGES.test(error.message))

export const databaseUnavailable = (cause: unknown): ServiceError => {
  if (cause instanceof ServiceError) return cause
  return new ServiceError('unavailable', 'The database is unavailable for a moment. Try again shortly.', {
    cause,
  })
}

/** The error as the rest of the code sees it: `unavailable` where another try helps, or a statement timed out. */
export const databaseFailure = (cause: unknown): unknown => {
  const isTemporary =
    isUnusable(cause) ||
    hasState(cause, UNAVAILABLE_STATES, TIMED_OUT_STATES) ||
    UNAVAILABLE_CODES.test((cause as NodeJS.ErrnoException | undefined)?.code ?? '')
  return isTemporary ? databaseUnavailable(cause) : cause
}

export const isTimedOut = (error: unknown): boolean =>
  error instanceof ServiceError && hasState(error.cause, TIMED_OUT_STATES)

export const violatedConstraint = (error: unknown): string | undefined =>
  hasState(error, /^23/) ? error.constraint : undefined

/** Whether a statement failed for a date or time that does not exist or can't be stored. */
export const isInvalidTime = (error: unknown): boolean => hasState(error, /^2200[789]$/)

/** Whether a statement failed for a value that its type (class 22) or a constraint (23) does not allow. */
export const isRefusedValue = (error: unknown): boolean => hasState(error, /^2[23]/)
