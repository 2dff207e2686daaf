import { type ErrorCode, type Faults, ServiceError } from '../runtime/service-error'

export interface Problem {
  status: number
  kind: ProblemKind
  detail: string
  faults?: Faults
  headers?: Record<string, string>
}

/** Every kind of problem the API answers with; a kind is the last part of the problem's `type`, and never changes. */
export const PROBLEMS = {
  'bad-request': { status: 400, title: 'Bad Request', meaning: 'The request could not be read.' },
  unauthenticated: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'The bearer token is missing, unknown, revoked or expired.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The token lacks the scope that the operation needs.',
  },
  'not-found': {
    status: 404,
    title: 'Not Found',
    meaning: 'There is nothing at this address, or nothing that belongs to the account.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method Not Allowed',
    meaning: 'The address exists; the Allow header names the methods it takes.',
  },
  timeout: { status: 408, title: 'Request Timeout', meaning: 'The request did not arrive in time.' },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'A request with the same Idempotency-Key is still being worked on.',
  },
  'too-large': { status: 413, title: 'Content Too Large', meaning: 'The body or the file is too large.' },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported Media Type',
    meaning: 'The operation does not read bodies of this Content-Type.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation Failed',
    meaning: 'The Expect header asks for what the API does not know.',
  },
  invalid: {
    status: 422,
    title: 'Unprocessable Content',
    meaning: 'The request could be read, but its data is faulty: `errors` lists every faulty field.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Request Header Fields Too Large',
    meaning: 'The headers are larger than 16 KiB.',
  },
  internal: { status: 500, title: 'Internal Server Error', meaning: 'Something went wrong on our side.' },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    meaning: 'Something behind the API is away for a moment; Retry-After says when to try again.',
  },
  late: {
    status: 504,
    title: 'Gateway Timeout',
    meaning: 'Something behind the API did not answer in time.',
  },
} as const

export type ProblemKind = keyof typeof PROBLEMS

/** Where the kinds of problems are explained; the `type` of a problem is this and the kind. */
export const PROBLEMS_PATH = '/problems'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

const KIND_OF: Record<ErrorCode, ProblemKind> = {
  bad_request: 'bad-request',
  unauthenticated: 'unauthenticated',
  forbidden: 'forbidden',
  not_found: 'not-found',
  conflict: 'conflict',
  too_large: 'too-large',
  invalid: 'invalid',
  unavailable: 'unavailable',
  late: 'late',
  internal: 'internal',
}

const CODE_OF = new Map(Object.entries(KIND_OF).map(([code, kind]) => [kind as string, code as ErrorCode]))

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
  const kind = KIND_OF[error.code]
  return problem(kind, error.detail, kind === 'invalid' ? error.faults : undefined)
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
  const { type, detail, errors } = parse(json)
  const code = CODE_OF.get(String(type).split('#')[1] ?? '')
  if (code === undefined)
    return ServiceError.internal(new Error(`no problem document: ${json.slice(0, 1000)}`))
  return new ServiceError(code, String(detail), { ...(errors && { faults: errors }) })
}

const parse = (json: string): { type?: unknown; detail?: unknown; errors?: Faults } => {
  try {
    return JSON.parse(json) ?? {}
  } catch {
    return {}
  }
}
