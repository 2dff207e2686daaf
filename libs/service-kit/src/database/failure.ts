import { DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'

const UNAVAILABLE_CODES = /^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/
const UNAVAILABLE_MESSAGES =
  /Connection terminated|timeout exceeded|timeout expired|Query read timeout|Client has encountered a connection error|not queryable/i

// Class 08 connection, 53 resources, 57P administrator, 58 system, 40 serialisation and deadlock, 25006 a standby: trying
// again helps, and so it does when a statement is no longer prepared (26000) or its plan older than its table (the only
// 0A000 that ours can meet).
const UNAVAILABLE_STATES = /^(08|53|57P|58|40|25006|26000|0A000)/

// A statement that was cut off by its time limit, and one that waited for a lock as long as it may.
const CUT_OFF_STATES = new Set(['57014', '55P03'])

const isCutOffState = (error: unknown) =>
  error instanceof DatabaseError && CUT_OFF_STATES.has(error.code ?? '')

/**
 * What a database call threw, as the rest of the code may see it: `unavailable` when the database is unavailable, asks to be tried
 * again, or cut a statement off, which is then undone with its transaction. Anything else is given back as it is.
 */
export const databaseFailure = (error: unknown): unknown => {
  if (error instanceof ServiceError || !(error instanceof Error)) return error
  if (error instanceof DatabaseError)
    return UNAVAILABLE_STATES.test(error.code ?? '') || isCutOffState(error) ? unavailable(error) : error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return UNAVAILABLE_CODES.test(code) || UNAVAILABLE_MESSAGES.test(error.message) ? unavailable(error) : error
}

/** Whether `databaseFailure` made this error of a statement that a time limit cut off. */
export const isTimedOut = (error: unknown): boolean =>
  error instanceof ServiceError && isCutOffState(error.cause)

// What a connection in this state is asked next fails in the same way: a plan whose table changed its shape (0A000), a
// server that became a standby (25006), a statement that the server no longer knows (26000).
const UNUSABLE_STATES = new Set(['0A000', '25006', '26000'])

/** Whether a connection on which this happened is to be closed: it is broken, or will fail again. */
export const isUnusable = (error: unknown): boolean =>
  error instanceof DatabaseError
    ? UNUSABLE_STATES.has(error.code ?? '')
    : error instanceof Error && UNAVAILABLE_MESSAGES.test(error.message)

const unavailable = (cause: Error) =>
  new ServiceError('unavailable', 'The database is unavailable for a moment. Try again shortly.', { cause })

/** The name of the constraint a statement broke, for the repository that knows what it means; else undefined. */
export const violatedConstraint = (error: unknown): string | undefined =>
  error instanceof DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined

/** Whether a statement was refused because a date or time it was given is none, or lies outside what can be stored. */
export const isInvalidTime = (error: unknown): boolean =>
  error instanceof DatabaseError && /^2200[789]$/.test(error.code ?? '')

/** Whether a statement was refused for a value it was given: one that its type does not have (class 22), or that a constraint forbids (23). */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
