/** All errors that a caller may see. Any other thrown value is a bug. */
export const ERROR_CODES = [
  'bad_request', // the request cannot be read
  'unauthenticated',
  'forbidden', // the token lacks a scope
  'not_found',
  'conflict',
  'lead_erased', // the lead's personal data was erased, so the lead accepts no further data
  'precondition_failed', // the record has changed since the caller read it
  'too_large',
  'rate_limited',
  'invalid', // the request can be read, but its fields are invalid
  'unavailable', // a retry may succeed
  'late', // another process did not respond in time
  'internal',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** Messages about invalid fields, by the dotted path of the field. */
export type FieldErrors = Record<string, string[]>

/**
 * The only error that crosses processes. `detail` is for users of the public API. `cause` is only for the
 * log.
 */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError'
  readonly fieldErrors: FieldErrors
  /** How many seconds the caller should wait before it retries, if known. */
  readonly retryAfterS: number | undefined

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: { fieldErrors?: FieldErrors; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause })
    this.fieldErrors = options.fieldErrors ?? {}
    this.retryAfterS = options.retryAfterS
  }

  static timedOut(cause?: unknown): ServiceError {
    return new ServiceError('late', 'The service did not respond in time.', { cause })
  }

  static internal(cause?: unknown): ServiceError {
    return new ServiceError('internal', 'Something went wrong on our side.', { cause })
  }

  static invalid(fieldErrors: FieldErrors): ServiceError {
    return new ServiceError('invalid', 'The given data was invalid.', { fieldErrors })
  }
}

/**
 * Thrown if too much work is waiting, or if the work has waited for too long. The refused work has not begun.
 */
export class TooBusy extends ServiceError {
  constructor() {
    super('unavailable', 'Too many requests are waiting. Try again shortly.')
  }
}
