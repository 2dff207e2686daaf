import { ERROR_CODES, type ErrorCode, type FieldErrors, ServiceError } from '../errors/service-error'

export interface Problem {
  status: number
  kind: ProblemKind
  detail: string
  fieldErrors?: FieldErrors
  headers?: Record<string, string>
  members?: Record<string, string>
}

/** A kind is the last part of the problem's `type`, and never changes. */
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

/** The page that explains the kinds; a kind is its fragment. */
export const PROBLEMS_PATH = '/problems'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

// A code is its kind with `_` in the place of `-`; HTTP alone has more kinds.
const kindOf = (code: ErrorCode) => code.replace('_', '-') as ProblemKind

// The cause of a 5xx is for the log.
const SERVER_DETAILS: Partial<Record<ProblemKind, string>> = {
  internal: 'Something went wrong on our side.',
  unavailable: 'Something behind the API is unavailable for a moment; Retry-After says when to try again.',
  late: 'Something behind the API did not answer in time.',
}

export const problem = (kind: ProblemKind, detail: string, fieldErrors?: FieldErrors): Problem => ({
  status: PROBLEMS[kind].status,
  kind,
  detail: SERVER_DETAILS[kind] ?? detail,
  ...(fieldErrors && { fieldErrors }),
  ...(kind === 'unavailable' && { headers: { 'retry-after': '1' } }),
})

/** The problem of a ServiceError; any other error is a bug of ours. */
export const problemOf = (error: unknown): Problem => {
  if (!(error instanceof ServiceError)) return problem('internal', '')
  const { code, detail, fieldErrors, retryAfterS } = error
  const found = problem(kindOf(code), detail, code === 'invalid' ? fieldErrors : undefined)
  return retryAfterS === undefined ? found : { ...found, headers: { 'retry-after': String(retryAfterS) } }
}

/** The problem as application/problem+json (RFC 9457). */
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

/** The inverse of `problemOf` and `problemJson`; `internal` for any other body. */
export const serviceErrorOfProblem = (json: string): ServiceError => {
  try {
    const { type, detail, errors }: { type?: unknown; detail?: unknown; errors?: FieldErrors } =
      JSON.parse(json)
    const kind = String(type).split('#')[1]
    const code = ERROR_CODES.find((known) => kindOf(known) === kind)
    if (code) return new ServiceError(code, String(detail), { ...(errors && { fieldErrors: errors }) })
  } catch {
    // No JSON, or null.
  }
  return ServiceError.internal(new Error(`no problem document: ${json.slice(0, 1000)}`))
}
