import {
  type Problem,
  type ProblemKind,
  problem,
  problemOf as problemOfServiceError,
  ServiceError,
} from '@leadwire/service-kit'

export { PROBLEMS_PATH, type Problem, type ProblemKind, problemJson } from '@leadwire/service-kit'
export { PROBLEMS } from './problem-kinds'

/** A problem of HTTP alone, such as a wrong method or media type. */
export class ProblemError extends Error {
  constructor(
    readonly kind: ProblemKind,
    readonly detail: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(detail)
    this.name = 'ProblemError'
  }
}

const FRAMEWORK_DETAILS: Record<string, readonly [ProblemKind, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too-large', 'The body may not be larger than 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported-media-type',
    'The Content-Type is not one this operation reads.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad-request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['bad-request', 'The address is not a well-formed URL.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'There is nothing at this address.'],
}

const frameworkProblem = (error: Error & { code?: unknown; statusCode?: unknown }): Problem | undefined => {
  const known = FRAMEWORK_DETAILS[String(error.code)]
  if (known) return problem(...known)
  const status = Number(error.statusCode)
  if (status === 413) return problem('too-large', 'The body is too large.')
  return status >= 400 && status < 500 ? problem('bad-request', 'The request could not be read.') : undefined
}

/** The problem of anything that was thrown: the one place where an error gets its HTTP status. */
export const problemOf = (error: unknown): Problem => {
  if (error instanceof ProblemError) {
    const { headers, ...rest } = problem(error.kind, error.detail)
    return { ...rest, headers: { ...headers, ...error.headers } }
  }
  const framework = error instanceof Error && !(error instanceof ServiceError) && frameworkProblem(error)
  return framework || problemOfServiceError(error)
}
