/** Everything that can go wrong for a reason a caller should hear. Anything else that is thrown is a bug of ours. */
export const ERROR_CODES = [
  'bad_request', // the request can't be read
  'unauthenticated',
  'forbidden', // the token lacks a scope
  'not_found',
  'conflict',
  'lead_erased', // the record's personal data was erased, and none may come again
  'precondition_failed', // the record is no longer what the caller takes it for
  'too_large',
  'invalid', // it can be read, but fields are faulty
  'unavailable', // something behind is unavailable; trying again helps
  'late', // something behind did not answer in time
  'internal',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** Faulty fields by their dotted path, each with what is wrong with it. */
export type Faults = Record<string, string[]>

/**
 * The one error that crosses processes. `detail` is a sentence the caller of the public interface may read;
 * `cause` is for the log alone.
 */
export class ServiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly options: { faults?: Faults; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause })
    this.name = 'ServiceError'
  }

  get faults(): Faults {
    return this.options.faults ?? {}
  }

  /** After how many seconds the same request may succeed, where that is known. */
  get retryAfterS(): number | undefined {
    return this.options.retryAfterS
  }

  /** Whoever asked waited as long as they would. */
  static late(cause?: unknown): ServiceError {
    return new ServiceError('late', 'The service did not answer in time.', { cause })
  }

  /** What the caller need not know of. */
  static internal(cause?: unknown): ServiceError {
    return new ServiceError('internal', 'Something went wrong on our side.', { cause })
  }

  /** 422: every faulty field at once. */
  static invalid(faults: Faults): ServiceError {
    return new ServiceError('invalid', 'The given data was invalid.', { faults })
  }
}

/** Too much waits already: the work was refused before any of it began. */
export class TooBusy extends ServiceError {
  constructor() {
    super('unavailable', 'Too many requests are waiting. Try again shortly.')
  }
}
