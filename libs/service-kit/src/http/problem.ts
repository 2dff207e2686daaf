import { ERROR_CODES, type ErrorCode, type Faults, ServiceError } from '../runtime/service-error'

export interface Problem {
  status: number
  kind: ProblemKind
  detail: string
  faults?: Faults
  headers?: Record<string, string>
}

const row = (status: number, title: string, meaning: string) => ({ status, title, meaning }) as const

/** Every kind of problem the API answers with; a kind is the last part of the problem's `type`, and never changes. */
export const PROBLEMS = {
  'bad-request': row(400, 'Bad Request', 'The request could not be read.'),
  unauthenticated: row(401, 'Unauthorized', 'The bearer token is missing, unknown, revoked or expired.'),
  forbidden: row(403, 'Forbidden', 'The token lacks the scope that the operation needs.'),
  'not-found': row(
    404,
    'Not Found',
    'There is nothing at this address, or nothing that belongs to the account.',
  ),
  'method-not-allowed': row(
    405,
    'Method Not Allowed',
    'The address exists; the Allow header names the methods it takes.',
  ),
  timeout: row(408, 'Request Timeout', 'The request did not arrive in time.'),
  conflict: row(409, 'Conflict', 'A request with the same Idempotency-Key is still being worked on.'),
  'too-large': row(413, 'Content Too Large', 'The body or the file is too large.'),
  'unsupported-media-type': row(
    415,
    'Unsupported Media Type',
    'The operation does not read bodies of this Content-Type.',
  ),
  'expectation-failed': row(
    417,
    'Expectation Failed',
    'The Expect header asks for what the API does not know.',
  ),
  invalid: row(
    422,
    'Unprocessable Content',
    'The request could be read, but its data is faulty: `errors` lists every faulty field.',
  ),
  'headers-too-large': row(431, 'Request Header Fields Too Large', 'The headers are larger than 16 KiB.'),
  internal: row(500, 'Internal Server Error', 'Something went wrong on our side.'),
  unavailable: row(
    503,
    'Service Unavailable',
    'Something behind the API is away for a moment; Retry-After says when to try again.',
  ),
  late: row(504, 'Gateway Timeout', 'Something behind the API did not answer in time.'),
} as const

export type ProblemKind = keyof typeof PROBLEMS

/** Where the kinds of problems are explained; the `type` of a problem is this and the kind. */
export const PROBLEMS_PATH = '/problems'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

// A code is its kind with `_` in the place of `-`; HTTP alone has more kinds.
const kindOf = (code: ErrorCode) => code.replace('_', '-') as ProblemKind

const CODE_OF = new Map(ERROR_CODES.map((code) => [kindOf(code) as string, code]))

export const problem = (kind: ProblemKind, detail: string, faults?: Faults): Problem => ({
  status: PROBLEMS[kind].status,
  kind,
  // What went wrong inside is for the log: a 5xx says the same to everyone.
  detail: PROBLEMS[kind].status >= 500 ? PROBLEMS[kind].meaning : detail,
  ...(faults && { faults }),
  ...(kind === 'unavailable' && { headers: { 'retry-after': '1' } }),
})

/** The problem that a ServiceError is over HTTP; anything else that was thrown is a bug of ours. */
export const problemOf = (error: unknown): Problem => {
  if (!(error instanceof ServiceError)) return problem('internal', '')
  const kind = kindOf(error.code)
  const found = problem(kind, error.detail, kind === 'invalid' ? error.faults : undefined)
  const { retryAfterS } = error
  return retryAfterS === undefined ? found : { ...found, headers: { 'retry-after': String(retryAfterS) } }
}

/** The problem as application/problem+json (RFC 9457). */
export const problemJson = ({ status, kind, detail, faults }: Problem, requestId: string): string =>
  JSON.stringify({
    type: `${PROBLEMS_PATH}#${kind}`,
    title: PROBLEMS[kind].title,
    status,
    detail,
    request_id: requestId,
    ...(faults && { errors: faults }),
  })

/** The ServiceError that `problemOf` and `problemJson` made a problem of; `internal` for any other body. */
export const serviceErrorOfProblem = (json: string): ServiceError => {
  try {
    const { type, detail, errors }: { type?: unknown; detail?: unknown; errors?: Faults } = JSON.parse(json)
    const code = CODE_OF.get(String(type).split('#')[1] ?? '')
    if (code) return new ServiceError(code, String(detail), { ...(errors && { faults: errors }) })
  } catch {
    // No JSON, or null.
  }
  return ServiceError.internal(new Error(`no problem document: ${json.slice(0, 1000)}`))
}
