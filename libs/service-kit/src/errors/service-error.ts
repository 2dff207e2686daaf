/** Every error that a caller may see. Anything else that is thrown is a bug of ours. */
export const ERROR_CODES = [
  'bad_request', // the request can't be read
  'unauthenticated',
  'forbidden', // the token lacks a scope
  'not_found',
  'conflict',
  'lead_erased', // the lead's personal data was erased, and none may be added
  'precondition_failed', // the record has changed since the caller read it
  'too_large',
  'rate_limited',
  'invalid', // it can be read, but fields are invalid
  'unavailable', // a retry helps
  'late', // another process timed out
  'internal',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** Messages on invalid fields, by the field's dotted path. */
export type FieldErrors = Record<string, string[]>

/** The one error that crosses processes. `detail` is for users of the public API; `cause` is for the log alone. */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError'
  readonly fieldErrors: FieldErrors
  /** After how many seconds to try again, where that is known. */
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
    return new ServiceError('late', 'The service did not answer in time.', { cause })
  }

  static internal(cause?: unknown): ServiceError {
    return new ServiceError('internal', 'Something went wrong on our side.', { cause })
  }

  static invalid(fieldErrors: FieldErrors): ServiceError {
    return new ServiceError('invalid', 'The given data was invalid.', { fieldErrors })
  }
}

/** Too much waits already: the work was refused before any of it began. */
export class TooBusy extends ServiceError {
  constructor() {
    super('unavailable', 'Too many requests are waiting. Try again shortly.')
  }
}
