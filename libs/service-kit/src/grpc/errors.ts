import type { Status as RpcStatus } from '@leadwire/contracts'
import { isAbortError } from 'abort-controller-x'
import type { ClientMiddleware, ServerMiddleware } from 'nice-grpc-common'
import { ClientError, ServerError, Status } from 'nice-grpc-common'
import { BadRequest, ErrorInfo, RetryInfo, RichClientError, RichServerError } from 'nice-grpc-error-details'
import { isRefusedValue } from '../database/failure'
import { type ErrorCode, type FieldErrors, ServiceError } from '../errors/service-error'
import { limitRepeats } from '../process/limit-repeats'
import type { Logger } from '../process/logger'

// A ServiceError crosses processes as a gRPC status with details. Its cause is only logged.

const DOMAIN = 'leadwire'

const STATUS_CODES: Record<ErrorCode, Status> = {
  bad_request: Status.INVALID_ARGUMENT,
  unauthenticated: Status.UNAUTHENTICATED,
  forbidden: Status.PERMISSION_DENIED,
  not_found: Status.NOT_FOUND,
  conflict: Status.ALREADY_EXISTS,
  lead_erased: Status.FAILED_PRECONDITION,
  precondition_failed: Status.FAILED_PRECONDITION,
  too_large: Status.OUT_OF_RANGE,
  rate_limited: Status.RESOURCE_EXHAUSTED,
  invalid: Status.INVALID_ARGUMENT,
  unavailable: Status.UNAVAILABLE,
  late: Status.DEADLINE_EXCEEDED,
  internal: Status.INTERNAL,
}

export const findStatusCode = (error: ServiceError): Status => STATUS_CODES[error.code]

/** Returns the details of an error: its code, its invalid fields, and when to retry. */
const listDetails = ({ code, fieldErrors, retryAfterS }: ServiceError) => {
  const fieldViolations = Object.entries(fieldErrors).flatMap(([field, messages]) =>
    messages.map((description) => ({ field, description })),
  )
  const details = [
    ErrorInfo.fromPartial({ reason: code.toUpperCase(), domain: DOMAIN }),
    BadRequest.fromPartial({ fieldViolations }),
  ]
  if (retryAfterS === undefined) return details
  return [...details, RetryInfo.fromPartial({ retryDelay: { seconds: retryAfterS } })]
}

/** Reads details that `listDetails` returned. Returns undefined for details of another domain. */
const readDetails = (message: string, details: unknown[]): ServiceError | undefined => {
  const find = <Detail>(type: { $type: string }) =>
    details.find((detail) => (detail as { $type?: string }).$type === type.$type) as Detail | undefined
  const info = find<ErrorInfo>(ErrorInfo)
  const code = info?.domain === DOMAIN ? info.reason.toLowerCase() : ''
  if (!(code in STATUS_CODES)) return undefined
  const fieldErrors: FieldErrors = {}
  for (const { field, description } of find<BadRequest>(BadRequest)?.fieldViolations ?? [])
    fieldErrors[field] = [...(fieldErrors[field] ?? []), description]
  const retryAfterS = find<RetryInfo>(RetryInfo)?.retryDelay?.seconds
  return new ServiceError(code as ErrorCode, message, {
    fieldErrors,
    ...(retryAfterS !== undefined && { retryAfterS }),
  })
}

const DETAIL_TYPES = new Map(
  [ErrorInfo, BadRequest, RetryInfo].map((type) => [`type.googleapis.com/${type.$type}`, type]),
)

/** Converts a ServiceError to the result of one item in a batch (google.rpc.Status). */
export const toRpcStatus = (error: ServiceError): RpcStatus => ({
  code: findStatusCode(error),
  message: error.detail,
  details: listDetails(error).map((detail) => {
    const typeUrl = `type.googleapis.com/${detail.$type}`
    const type = DETAIL_TYPES.get(typeUrl)!
    return { typeUrl, value: Buffer.from(type.encode(detail as never).finish()) }
  }),
})

/** Reads the error of a failed item in a batch. */
export const readRpcStatus = ({ message, details }: RpcStatus): ServiceError => {
  const decoded = details.map(({ typeUrl, value }) => DETAIL_TYPES.get(typeUrl)?.decode(value) ?? {})
  return readDetails(message, decoded) ?? ServiceError.internal()
}

type Methods = Record<string, { requestType: { decode(bytes: Uint8Array): object } }>

/**
 * Server side: makes the methods of a definition decode a malformed request to an error, which
 * `errorsToStatus` then returns to the caller. Otherwise grpc-js would return INTERNAL.
 */
export const decodeToErrors = <Definition extends object>(definition: Definition): Definition => {
  const { methods } = definition as unknown as { methods: Methods }
  const all = Object.entries(methods).map(([name, method]) => {
    const decode = (bytes: Uint8Array) => {
      try {
        return method.requestType.decode(bytes)
      } catch (error) {
        return error
      }
    }
    return [name, { ...method, requestType: { ...method.requestType, decode } }]
  })
  return { ...definition, methods: Object.fromEntries(all) }
}

const requireDecoded = <Request>(request: Request): Request => {
  if (!(request instanceof Error)) return request
  throw new ServiceError('bad_request', 'The message cannot be decoded.', { cause: request })
}

async function* requireEachDecoded<Request>(requests: AsyncIterable<Request>): AsyncGenerator<Request> {
  for await (const request of requests) yield requireDecoded(request)
}

/**
 * Server side: converts a ServiceError to a status with details. Logs any other error and converts it to
 * INTERNAL.
 */
export const errorsToStatus = (logger: Logger): ServerMiddleware => {
  const failures = limitRepeats(logger)
  const toServerError = (thrown: unknown, method: string): unknown => {
    const error = isRefusedValue(thrown)
      ? new ServiceError('bad_request', 'The request contains a value that cannot be stored.', {
          cause: thrown,
        })
      : thrown
    if (isAbortError(error) || error instanceof ServerError) return error
    if (!(error instanceof ServiceError)) {
      logger.error({ err: error, method }, 'call failed')
      return new ServerError(Status.INTERNAL, 'internal error')
    }
    if (error.cause) failures.warn({ err: error, method }, error.detail)
    return new RichServerError(findStatusCode(error), error.detail, listDetails(error))
  }
  return async function* (call, context) {
    try {
      const request = call.requestStream ? requireEachDecoded(call.request) : requireDecoded(call.request)
      return yield* call.next(request as never, context)
    } catch (thrown) {
      throw toServerError(thrown, call.method.path)
    }
  }
}

const UNAVAILABLE = 'The service is unavailable. Try again shortly.'

/** The errors of statuses without details. A status that is not in the map becomes `internal`. */
const ERRORS = new Map<Status, [code: ErrorCode, detail: string]>([
  [Status.UNAVAILABLE, ['unavailable', UNAVAILABLE]],
  [Status.RESOURCE_EXHAUSTED, ['unavailable', UNAVAILABLE]],
  // During an upgrade the other service may still be the previous release, which lacks the method.
  [
    Status.UNIMPLEMENTED,
    ['unavailable', 'The service is being upgraded and lacks this operation. Try again shortly.'],
  ],
  [Status.DEADLINE_EXCEEDED, ['late', ServiceError.timedOut().detail]],
  [
    Status.UNAUTHENTICATED,
    ['internal', 'The other service rejected the SERVICE_TOKEN. Set the same token in all services.'],
  ],
])

// grpc-js reports INTERNAL if a draining connection is reset, for example because its server was killed.
const isReset = ({ details }: ClientError) => details.endsWith('(Call ended without gRPC status)')

/**
 * Client side: converts a status with details back to its ServiceError, and any other status to an error in
 * `ERRORS`.
 */
export const statusToErrors: ClientMiddleware = async function* (call, options) {
  try {
    return yield* call.next(call.request, options)
  } catch (cause) {
    if (!(cause instanceof ClientError)) throw cause
    const sent = cause instanceof RichClientError ? readDetails(cause.details, cause.extra) : undefined
    if (sent) throw sent
    const known = ERRORS.get(isReset(cause) ? Status.UNAVAILABLE : cause.code)
    throw known ? new ServiceError(...known, { cause }) : ServiceError.internal(cause)
  }
}
