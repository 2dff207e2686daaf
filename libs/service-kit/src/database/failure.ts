import { DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'

const UNAVAILABLE_CODES = /^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/
const UNAVAILABLE_MESSAGES =
  /Connection terminated|timeout exceeded|timeout expired|Query read timeout|Client has encountered a connection error|not queryable/i

// Class 08 connection, 53 resources, 57P administrator, 58 system, 40 serialisation and deadlock, 25006 a standby: trying
// again helps, and so it does when a statement is no longer prepared (26000) or its plan older than its table (the only
// 0A000 that ours can meet).
const UNAVAILABLE_STATES = /^(08|53|57P|58|40|25006|26000|0A000)/

// A statement that timed out, and one that timed out waiting for a lock.
const TIMED_OUT_STATES = new Set(['57014', '55P03'])

const hasTimedOutState = (error: unknown) =>
  error instanceof DatabaseError && TIMED_OUT_STATES.has(error.code ?? '')

/**
 * The error of a database call as the rest of the code sees it: `unavailable` when the database is unavailable, asks for a
 * retry, or a statement timed out and was rolled back with its transaction. Any other error is returned as it is.
 */
export const databaseFailure = (error: unknown): unknown => {
  if (error instanceof ServiceError || !(error instanceof Error)) return error
  if (error instanceof DatabaseError)
    return UNAVAILABLE_STATES.test(error.code ?? '') || hasTimedOutState(error) ? unavailable(error) : error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return UNAVAILABLE_CODES.test(code) || UNAVAILABLE_MESSAGES.test(error.message) ? unavailable(error) : error
}

/** Whether this is the error of a statement that timed out. */
export const isTimedOut = (error: unknown): boolean =>
  error instanceof ServiceError && hasTimedOutState(error.cause)

// The next statement on such a connection fails in the same way: a plan whose table changed (0A000), a server that became a
// standby (25006), a statement that the server no longer knows (26000).
const UNUSABLE_STATES = new Set(['0A000', '25006', '26000'])

/** Whether to close the connection on which this happened. */
export const isUnusable = (error: unknown): boolean =>
  error instanceof DatabaseError
    ? UNUSABLE_STATES.has(error.code ?? '')
    : error instanceof Error && UNAVAILABLE_MESSAGES.test(error.message)

const unavailable = (cause: Error) =>
  new ServiceError('unavailable', 'The database is unavailable for a moment. Try again shortly.', { cause })

/** The name of the constraint that a statement violated; else undefined. */
export const violatedConstraint = (error: unknown): string | undefined =>
  error instanceof DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined

/** Whether a statement failed for a date or time that does not exist or can't be stored. */
export const isInvalidTime = (error: unknown): boolean =>
  error instanceof DatabaseError && /^2200[789]$/.test(error.code ?? '')

/** Whether a statement failed for a value that its type (class 22) or a constraint (23) does not allow. */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
