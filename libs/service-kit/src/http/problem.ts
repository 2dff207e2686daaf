import { ERROR_CODES, type ErrorCode, type Faults, ServiceError } from '../errors/service-error'

export interface Problem {
  status: number
  kind: ProblemKind
  detail: string
  faults?: Faults
  headers?: Record<string, string>
}

const row = (status: number, title: string, meaning: string, mend: string) =>
  ({ status, title, meaning, mend }) as const

/** Every kind of problem the API answers with; a kind is the last part of the problem's `type`, and never changes. */
export const PROBLEMS = {
  'bad-request': row(
    400,
    'Bad Request',
    'The request could not be read.',
    '`detail` says what is wrong with it: broken JSON, text that is not UTF-8, a header that is no good. Correct it.',
  ),
  unauthenticated: row(
    401,
    'Unauthorized',
    'The bearer token is missing, unknown, revoked or expired.',
    'Send `Authorization: Bearer` with a token that is valid. `POST /manage/tokens` makes one.',
  ),
  forbidden: row(
    403,
    'Forbidden',
    'The token lacks the scope that the operation needs.',
    'Use a token with the scope that `detail` names.',
  ),
  'account-suspended': row(
    403,
    'Account Suspended',
    'The operator has suspended the account. Nothing of it is lost; its webhooks are held.',
    'Ask the operator. The tokens work again when the account is resumed.',
  ),
  'not-found': row(
    404,
    'Not Found',
    'There is nothing at this address, or nothing that belongs to the account.',
    'Look at the address, and at the account that the token belongs to.',
  ),
  'method-not-allowed': row(
    405,
    'Method Not Allowed',
    'The address exists; the Allow header names the methods it takes.',
    'Use one of these.',
  ),
  timeout: row(
    408,
    'Request Timeout',
    'The request did not arrive in time.',
    'Send it again. Nothing was done of it.',
  ),
  conflict: row(
    409,
    'Conflict',
    'A request with the same Idempotency-Key is still being worked on, or the state of the record forbids it.',
    'Wait as long as Retry-After says, where it is there, and send it again. Otherwise look at the record.',
  ),
  'lead-erased': row(
    409,
    'Lead Erased',
    'The personal data of the lead was erased. Nothing of the lead changes any more, and nothing is added to it.',
    'Create another lead, if the person came again.',
  ),
  'precondition-failed': row(
    412,
    'Precondition Failed',
    'The lead is no longer what If-Match names: somebody changed it. Nothing was done.',
    'Retrieve it, look whether your change still fits, and send it with the new ETag.',
  ),
  'too-large': row(
    413,
    'Content Too Large',
    'The body or the file is too large.',
    '`detail` names the limit. Send less.',
  ),
  'unsupported-media-type': row(
    415,
    'Unsupported Media Type',
    'The operation does not read bodies of this Content-Type.',
    'Send JSON or a form, and files as `multipart/form-data`, in UTF-8 and not compressed.',
  ),
  'expectation-failed': row(
    417,
    'Expectation Failed',
    'The Expect header asks for what the API does not know.',
    'Leave it out, or send `100-continue`.',
  ),
  invalid: row(
    422,
    'Unprocessable Content',
    'The request could be read, but its data is faulty: `errors` lists every faulty field.',
    'Correct the fields. Each message says what may stand there.',
  ),
  'rate-limited': row(
    429,
    'Too Many Requests',
    'The token has sent more requests than the operator allows. Nothing was done.',
    'Wait as long as Retry-After says, and send it again. RateLimit tells each time how much is left.',
  ),
  'headers-too-large': row(
    431,
    'Request Header Fields Too Large',
    'The headers are larger than 16 KiB.',
    'Send fewer or shorter headers.',
  ),
  internal: row(
    500,
    'Internal Server Error',
    'Something went wrong on our side.',
    'Tell the operator the `request_id`.',
  ),
  unavailable: row(
    503,
    'Service Unavailable',
    'Something behind the API is unavailable for a moment; Retry-After says when to try again.',
    'Try again then. A create is safe to repeat with an `Idempotency-Key`.',
  ),
  late: row(
    504,
    'Gateway Timeout',
    'Something behind the API did not answer in time.',
    'Try again. A write may have been done: repeat it with the same `Idempotency-Key`.',
  ),
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
