import { createProblem, type Problem, type ProblemKind, ServiceError, toProblem } from '@leadwire/service-kit'

/**
 * An error that exists only in HTTP, such as a wrong method or media type. All other errors are
 * ServiceErrors.
 */
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

export const notFound = () => new ProblemError('not-found', 'There is nothing at this address.')

const LIBRARY_ERRORS: Record<string, readonly [ProblemKind, string]> = {
  FST_ERR_BAD_URL: ['bad-request', 'The address is not a well-formed URL.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'There is nothing at this address.'],
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers may not be larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['timeout', 'The request did not arrive in time.'],
}

/**
 * Returns the problem of a request that Fastify or Node's parser refused. Returns undefined for other errors.
 */
export const findLibraryProblem = (
  error: Error & { code?: unknown; statusCode?: unknown },
): Problem | undefined => {
  const known = LIBRARY_ERRORS[String(error.code)]
  if (known) return createProblem(...known)
  const status = Number(error.statusCode)
  if (status === 413) return createProblem('too-large', 'The body is too large.')
  if (status >= 400 && status < 500) return createProblem('bad-request', 'The request could not be read.')
  return undefined
}

/** The challenge of a 401 (RFC 6750, 3.1). */
const INVALID_TOKEN = { 'www-authenticate': 'Bearer error="invalid_token"' }

/** Returns the problem of an error. This is the only place where an error gets its HTTP status. */
export const findProblem = (error: unknown): Problem => {
  if (error instanceof ProblemError) {
    const { headers, ...rest } = createProblem(error.kind, error.detail)
    const { members } = error
    return { ...rest, headers: { ...headers, ...error.headers }, ...(members && { members }) }
  }
  if (error instanceof ServiceError) {
    const problem = toProblem(error)
    // A service responds `unauthenticated` if the token became invalid after the gateway had verified it.
    return problem.kind === 'unauthenticated' ? { ...problem, headers: INVALID_TOKEN } : problem
  }
  const refused = error instanceof Error ? findLibraryProblem(error) : undefined
  return refused ?? toProblem(error)
}
