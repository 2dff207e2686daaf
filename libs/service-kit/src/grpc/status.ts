import type { Status as RpcStatus } from '@leadwire/contracts'
import { Status } from 'nice-grpc-common'
import { BadRequest, ErrorInfo, RetryInfo } from 'nice-grpc-error-details'
import { type ErrorCode, type FieldErrors, ServiceError } from '../errors/service-error'

const DOMAIN = 'leadwire'

const CODES: Record<ErrorCode, Status> = {
  bad_request: Status.INVALID_ARGUMENT,
  unauthenticated: Status.UNAUTHENTICATED,
  forbidden: Status.PERMISSION_DENIED,
  not_found: Status.NOT_FOUND,
  conflict: Status.ALREADY_EXISTS,
  lead_erased: Status.FAILED_PRECONDITION,
  precondition_failed: Status.FAILED_PRECONDITION,
  too_large: Status.OUT_OF_RANGE,
  invalid: Status.INVALID_ARGUMENT,
  unavailable: Status.UNAVAILABLE,
  late: Status.DEADLINE_EXCEEDED,
  internal: Status.INTERNAL,
}

export const statusCodeOf = (error: ServiceError): Status => CODES[error.code]

type Detail = ErrorInfo | BadRequest | RetryInfo

/**
 * The details of a ServiceError: its code (ErrorInfo), invalid fields (BadRequest), and when to retry (RetryInfo). Not its cause.
 */
export const detailsOf = ({ code, fieldErrors, retryAfterS }: ServiceError): Detail[] => [
  ErrorInfo.fromPartial({ reason: code.toUpperCase(), domain: DOMAIN }),
  BadRequest.fromPartial({
    fieldViolations: Object.entries(fieldErrors).flatMap(([field, messages]) =>
      messages.map((description) => ({ field, description })),
    ),
  }),
  ...(retryAfterS === undefined ? [] : [RetryInfo.fromPartial({ retryDelay: { seconds: retryAfterS } })]),
]

const errorsOf = ({ fieldViolations }: BadRequest): FieldErrors => {
  const fieldErrors: FieldErrors = {}
  for (const { field, description } of fieldViolations) {
    fieldErrors[field] ??= []
    fieldErrors[field].push(description)
  }
  return fieldErrors
}

/** The inverse of `detailsOf`; undefined when the details are of another domain. */
export const errorOfDetails = (message: string, details: unknown[]): ServiceError | undefined => {
  const is = <Detail>(type: { $type: string }) =>
    details.find((detail) => (detail as { $type?: string }).$type === type.$type) as Detail | undefined
  const info = is<ErrorInfo>(ErrorInfo)
  const code = info?.domain === DOMAIN ? info.reason.toLowerCase() : ''
  if (!(code in CODES)) return undefined
  const badRequest = is<BadRequest>(BadRequest)
  const retryAfterS = is<RetryInfo>(RetryInfo)?.retryDelay?.seconds
  return new ServiceError(code as ErrorCode, message, {
    fieldErrors: badRequest ? errorsOf(badRequest) : {},
    ...(retryAfterS !== undefined && { retryAfterS }),
  })
}

const TYPES = [ErrorInfo, BadRequest, RetryInfo] as const

const typeUrl = ({ $type }: { $type: string }) => `type.googleapis.com/${$type}`

/** A ServiceError as the result of one item in a batch (google.rpc.Status). */
export const statusOf = (error: ServiceError): RpcStatus => ({
  code: statusCodeOf(error),
  message: error.detail,
  details: detailsOf(error).map((detail) => {
    const type = TYPES.find(({ $type }) => $type === detail.$type)!
    return { typeUrl: typeUrl(type), value: Buffer.from(type.encode(detail as never).finish()) }
  }),
})

/** The inverse of `statusOf`. */
export const errorOfStatus = ({ message, details }: RpcStatus): ServiceError => {
  const decoded = details.flatMap(({ typeUrl: url, value }) => {
    const type = TYPES.find((known) => typeUrl(known) === url)
    return type ? [type.decode(value)] : []
  })
  return errorOfDetails(message, decoded) ?? ServiceError.internal()
}
