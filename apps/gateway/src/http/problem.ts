import {
  type Problem,
  type ProblemKind,
  problem,
  problemOf as problemOfServiceError,
  ServiceError,
  PROBLEMS as STATUSES,
} from '@leadwire/service-kit'

export { PROBLEMS_PATH, type Problem, type ProblemKind, problemJson } from '@leadwire/service-kit'

/** What each kind of problem means, and what a caller can do about it. */
const HELP: Record<ProblemKind, [meaning: string, mend: string]> = {
  'bad-request': [
    'The request could not be read.',
    '`detail` says what is wrong with it: broken JSON, text that is not UTF-8, a header that is no good. Correct it.',
  ],
  unauthenticated: [
    'The bearer token is missing, unknown, revoked or expired.',
    'Send `Authorization: Bearer` with a token that is valid. `POST /manage/tokens` makes one.',
  ],
  forbidden: [
    'The token lacks the scope that the operation needs, or is not for pages of the Origin.',
    'Use a token with the scope that `detail` names.',
  ],
  'account-suspended': [
    'The operator has suspended the account. Nothing of it is lost; its webhooks are held.',
    'Ask the operator. The tokens work again when the account is resumed.',
  ],
  'not-found': [
    'There is nothing at this address, or nothing that belongs to the account.',
    'Look at the address, and at the account that the token belongs to.',
  ],
  'method-not-allowed': [
    'The address exists; the Allow header names the methods it takes.',
    'Use one of these.',
  ],
  timeout: ['The request did not arrive in time.', 'Send it again. Nothing was done of it.'],
  conflict: [
    'A request with the same Idempotency-Key is still being worked on, or the state of the record forbids it.',
    'Wait as long as Retry-After says, where it is there, and send it again. Otherwise check the record.',
  ],
  'lead-erased': [
    'The personal data of the lead was erased. Nothing of the lead changes any more, and nothing is added to it.',
    'Create another lead, if the person came again.',
  ],
  gone: [
    'The cursor is no place in the log of events: its events are no longer kept, or the database was restored to before it, or it is of another installation.',
    'Continue with `oldest_cursor`, and expect events that you have seen. Compare your records with the API.',
  ],
  'precondition-failed': [
    'The lead is no longer what If-Match names: it was changed. Nothing was done.',
    'Retrieve it, check whether your change still fits, and send it with the new ETag.',
  ],
  'too-large': ['The body or the file is too large.', '`detail` names the limit. Send less.'],
  'unsupported-media-type': [
    'The operation does not read bodies of this Content-Type.',
    'Send JSON or a form, and files as `multipart/form-data`, in UTF-8 and not compressed.',
  ],
  'expectation-failed': [
    'The Expect header asks for what the API does not know.',
    'Leave it out, or send `100-continue`.',
  ],
  invalid: [
    'The request could be read, but its data is invalid: `errors` lists every invalid field.',
    'Correct the fields. Each message says what may stand there.',
  ],
  'rate-limited': [
    'The token, or with a publishable token the address, has sent more requests than the operator allows, or the account has as much in flight as it may: uploads, exports, streams of events. Nothing was done.',
    'Wait as long as Retry-After says, and send it again. RateLimit in each response says how much is left.',
  ],
  'headers-too-large': ['The headers are larger than 16 KiB.', 'Send fewer or shorter headers.'],
  internal: ['Something went wrong on our side.', 'Tell the operator the `request_id`.'],
  unavailable: [
    'Something behind the API is unavailable for a moment; Retry-After says when to try again.',
    'Try again then. A create is safe to repeat with an `Idempotency-Key`.',
  ],
  late: [
    'Something behind the API did not answer in time.',
    'Try again. A write may have been done: repeat it with the same `Idempotency-Key`.',
  ],
}

/** Every kind of problem: its status and title, and its help. */
export const PROBLEMS = Object.fromEntries(
  Object.entries(HELP).map(([kind, [meaning, mend]]) => [
    kind,
    { ...STATUSES[kind as ProblemKind], meaning, mend },
  ]),
) as { [Kind in ProblemKind]: (typeof STATUSES)[Kind] & { meaning: string; mend: string } }

/** A problem of HTTP alone, such as a wrong method or media type. */
export class ProblemError extends Error {
  constructor(
    readonly kind: ProblemKind,
    readonly detail: string,
    readonly headers: Record<string, string> = {},
    readonly members?: Record<string, string>,
  ) {
    super(detail)
    this.name = 'ProblemError'
  }
}

const KNOWN_ERRORS: Record<string, readonly [ProblemKind, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too-large', 'The body may not be larger than 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported-media-type',
    'The Content-Type is not one this operation reads.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad-request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['bad-request', 'The address is not a well-formed URL.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'There is nothing at this address.'],
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers may not be larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['timeout', 'The request did not arrive in time.'],
}

export const notFound = () => new ProblemError('not-found', 'There is nothing at this address.')

/** The problem of an error of Fastify or of Node's parser. */
export const knownProblem = (
  error: Error & { code?: unknown; statusCode?: unknown },
): Problem | undefined => {
  const known = KNOWN_ERRORS[String(error.code)]
  if (known) return problem(...known)
  const status = Number(error.statusCode)
  if (status === 413) return problem('too-large', 'The body is too large.')
  return status >= 400 && status < 500 ? problem('bad-request', 'The request could not be read.') : undefined
}

/** The problem of anything that was thrown: the one place where an error gets its HTTP status. */
export const problemOf = (error: unknown): Problem => {
  if (error instanceof ProblemError) {
    const { headers, ...rest } = problem(error.kind, error.detail)
    const { members } = error
    return { ...rest, headers: { ...headers, ...error.headers }, ...(members && { members }) }
  }
  const framework = error instanceof Error && !(error instanceof ServiceError) && knownProblem(error)
  return framework || problemOfServiceError(error)
}
