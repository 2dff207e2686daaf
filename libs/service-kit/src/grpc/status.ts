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
  rate_limited: Status.RESOURCE_EXHAUSTED,
  invalid: Status.INVALID_ARGUMENT,
  unavailable: Status.UNAVAILABLE,
  late: Status.DEADLINE_EXCEEDED,
  internal: Status.INTERNAL,
}

export const statusCodeOf = (error: ServiceError): Status => CODES[error.code]

/** Its code (ErrorInfo), invalid fields (BadRequest), and when to retry (RetryInfo). Not its cause. */
export const detailsOf = ({ code, fieldErrors, retryAfterS }: ServiceError) => [
  ErrorInfo.fromPartial({ reason: code.toUpperCase(), domain: DOMAIN }),
  BadRequest.fromPartial({
    fieldViolations: Object.entries(fieldErrors).flatMap(([field, messages]) =>
      messages.map((description) => ({ field, description })),
    ),
  }),
  ...(retryAfterS === undefined ? [] : [RetryInfo.fromPartial({ retryDelay: { seconds: retryAfterS } })]),
]

/** The inverse of `detailsOf`; undefined when the details are of another domain. */
export const errorOfDetails = (message: string, details: unknown[]): ServiceError | undefined => {
  const find = <Detail>(type: { $type: string }) =>
    details.find((detail) => (detail as { $type?: string }).$type === type.$type) as Detail | undefined
  const info = find<ErrorInfo>(ErrorInfo)
  const code = info?.domain === DOMAIN ? info.reason.toLowerCase() : ''
  if (!(code in CODES)) return undefined
  const fieldErrors: FieldErrors = {}
  for (const { field, description } of find<BadRequest>(BadRequest)?.fieldViolations ?? [])
    fieldErrors[field] = [...(fieldErrors[field] ?? []), description]
  const retryAfterS = find<RetryInfo>(RetryInfo)?.retryDelay?.seconds
  return new ServiceError(code as ErrorCode, message, {
    fieldErrors,
    ...(retryAfterS !== undefined && { retryAfterS }),
  })
}

const TYPES = new Map(
  [ErrorInfo, BadRequest, RetryInfo].map((type) => [`type.googleapis.com/${type.$type}`, type]),
)

/** A ServiceError as the result of one item in a batch (google.rpc.Status). */
export const statusOf = (error: ServiceError): RpcStatus => ({
  code: statusCodeOf(error),
  message: error.detail,
  details: detailsOf(error).map((detail) => {
    const typeUrl = `type.googleapis.com/${detail.$type}`
    return {
      typeUrl,
      value: Buffer.from(
        TYPES.get(typeUrl)!
          .encode(detail as never)
          .finish(),
      ),
    }
  }),
})

export const errorOfStatus = ({ message, details }: RpcStatus): ServiceError => {
  const decoded = details.map(({ typeUrl, value }) => TYPES.get(typeUrl)?.decode(value) ?? {})
  return errorOfDetails(message, decoded) ?? ServiceError.internal()
}
