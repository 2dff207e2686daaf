import { DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'

// The codes EAI_… mean that no name server responds. EMFILE and ENFILE mean that this process or the machine
// has no free file descriptor.
const UNAVAILABLE_CODES =
  /^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EMFILE|ENFILE|EAI_\w+)$/
const UNAVAILABLE_MESSAGES =
  /Connection terminated|timeout exceeded|timeout expired|Query read timeout|Client has encountered a connection error|not queryable/i

// A later attempt may succeed after an error of these classes: 08 (connection), 28 (password, because
// passwords are replaced while services run), 53 (resources), 57P (shutdown by an administrator), 58
// (system), 40 (serialisation and deadlock).
const UNAVAILABLE_STATES = /^(08|28|53|57P|58|40)/
const TIMED_OUT_STATES = /^(57014|55P03)$/

// After these errors the connection is unusable, but another connection works:
//
// - 0A000: the prepared plan is older than its table. Our statements get 0A000 for no other reason.
// - 25006: the server has become a standby.
// - 26000: the connection no longer has the prepared statement.
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

/**
 * Converts an error of PostgreSQL or of a connection. Returns `unavailable` if another attempt may succeed or
 * a statement timed out. Returns any other error as it is.
 */
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

/**
 * Returns whether PostgreSQL refused a value, because of its type (class 22) or of a constraint (class 23).
 */
export const isRefusedValue = (error: unknown): boolean => hasState(error, /^2[23]/)
