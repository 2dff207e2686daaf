import { ERROR_CODES, type ErrorCode, type FieldErrors, ServiceError } from '../errors/service-error'

export interface Problem {
  status: number
  kind: ProblemKind
  detail: string
  fieldErrors?: FieldErrors
  headers?: Record<string, string>
  members?: Record<string, string>
}

/** The kinds of problems. A kind is the last part of the problem's `type`, and never changes. */
export const PROBLEMS = {
  'bad-request': { status: 400, title: 'Bad Request' },
  unauthenticated: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  'account-suspended': { status: 403, title: 'Account Suspended' },
  'not-found': { status: 404, title: 'Not Found' },
  'method-not-allowed': { status: 405, title: 'Method Not Allowed' },
  timeout: { status: 408, title: 'Request Timeout' },
  conflict: { status: 409, title: 'Conflict' },
  'lead-erased': { status: 409, title: 'Lead Erased' },
  gone: { status: 410, title: 'Gone' },
  'precondition-failed': { status: 412, title: 'Precondition Failed' },
  'too-large': { status: 413, title: 'Content Too Large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported Media Type' },
  'expectation-failed': { status: 417, title: 'Expectation Failed' },
  invalid: { status: 422, title: 'Unprocessable Content' },
  'rate-limited': { status: 429, title: 'Too Many Requests' },
  'headers-too-large': { status: 431, title: 'Request Header Fields Too Large' },
  internal: { status: 500, title: 'Internal Server Error' },
  unavailable: { status: 503, title: 'Service Unavailable' },
  late: { status: 504, title: 'Gateway Timeout' },
} as const

export type ProblemKind = keyof typeof PROBLEMS

/** The path of the page that explains the kinds. The fragment of its URL is the kind. */
export const PROBLEMS_PATH = '/problems'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

// A code and its kind differ only in `_` and `-`. Some kinds exist only for HTTP and have no code.
const toKind = (code: ErrorCode) => code.replace('_', '-') as ProblemKind

// A 5xx response must not reveal the cause, which is only logged.
const SERVER_DETAILS: Partial<Record<ProblemKind, string>> = {
  internal: 'Something went wrong on our side. Try again. If the error remains, report the request_id.',
  unavailable:
    'A service behind the API is temporarily unavailable. Try again after the seconds in Retry-After.',
  late: 'The request timed out, but may have taken effect. Repeat it with the same Idempotency-Key.',
}

export const createProblem = (kind: ProblemKind, detail: string, fieldErrors?: FieldErrors): Problem => ({
  status: PROBLEMS[kind].status,
  kind,
  detail: SERVER_DETAILS[kind] ?? detail,
  ...(fieldErrors && { fieldErrors }),
  ...(kind === 'unavailable' && { headers: { 'retry-after': '1' } }),
})

/** Returns the problem of a ServiceError. Any other error is a bug, and becomes `internal`. */
export const toProblem = (error: unknown): Problem => {
  if (!(error instanceof ServiceError)) return createProblem('internal', '')
  const { code, detail, fieldErrors, retryAfterS } = error
  const found = createProblem(toKind(code), detail, code === 'invalid' ? fieldErrors : undefined)
  return retryAfterS === undefined ? found : { ...found, headers: { 'retry-after': String(retryAfterS) } }
}

/** Renders a problem as application/problem+json (RFC 9457). */
export const problemJson = (
  { status, kind, detail, fieldErrors, members }: Problem,
  requestId: string,
): string =>
  JSON.stringify({
    type: `${PROBLEMS_PATH}#${kind}`,
    title: PROBLEMS[kind].title,
    status,
    detail,
    request_id: requestId,
    ...members,
    ...(fieldErrors && { errors: fieldErrors }),
  })

/**
 * Reads the error from a problem document that `problemJson` wrote. Returns `internal` for any other body.
 */
export const readProblemError = (json: string): ServiceError => {
  try {
    const { type, detail, errors }: { type?: unknown; detail?: unknown; errors?: FieldErrors } =
      JSON.parse(json)
    const kind = String(type).split('#')[1]
    const code = ERROR_CODES.find((known) => toKind(known) === kind)
    if (code) return new ServiceError(code, String(detail), { ...(errors && { fieldErrors: errors }) })
  } catch {
    // The body is not JSON, or is null.
  }
  return ServiceError.internal(new Error(`no problem document: ${json.slice(0, 1000)}`))
}
