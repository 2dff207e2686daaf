import type { Status as RpcStatus } from '@leadwire/contracts'
import { Status } from 'nice-grpc-common'
import { BadRequest, ErrorInfo } from 'nice-grpc-error-details'
import { type ErrorCode, type Faults, ServiceError } from '../runtime/service-error'

const DOMAIN = 'leadwire'

const CODES: Record<ErrorCode, Status> = {
  bad_request: Status.INVALID_ARGUMENT,
  unauthenticated: Status.UNAUTHENTICATED,
  forbidden: Status.PERMISSION_DENIED,
  not_found: Status.NOT_FOUND,
  conflict: Status.ALREADY_EXISTS,
  too_large: Status.OUT_OF_RANGE,
  invalid: Status.INVALID_ARGUMENT,
  unavailable: Status.UNAVAILABLE,
  late: Status.DEADLINE_EXCEEDED,
  internal: Status.INTERNAL,
}

export const statusCodeOf = (error: ServiceError): Status => CODES[error.code]

/** The details of a ServiceError: which error it is (ErrorInfo), and the faulty fields (BadRequest). Its cause stays here. */
export const detailsOf = ({ code, faults }: ServiceError): [ErrorInfo, BadRequest] => [
  ErrorInfo.fromPartial({ reason: code.toUpperCase(), domain: DOMAIN }),
  BadRequest.fromPartial({
    fieldViolations: Object.entries(faults).flatMap(([field, messages]) =>
      messages.map((description) => ({ field, description })),
    ),
  }),
]

const faultsOf = ({ fieldViolations }: BadRequest): Faults => {
  const faults: Faults = {}
  for (const { field, description } of fieldViolations) {
    faults[field] ??= []
    faults[field].push(description)
  }
  return faults
}

/** The ServiceError that `detailsOf` took apart; undefined when the details tell of none. */
export const errorOfDetails = (message: string, details: unknown[]): ServiceError | undefined => {
  const is = <Detail>(type: { $type: string }) =>
    details.find((detail) => (detail as { $type?: string }).$type === type.$type) as Detail | undefined
  const info = is<ErrorInfo>(ErrorInfo)
  const code = info?.domain === DOMAIN ? info.reason.toLowerCase() : ''
  if (!(code in CODES)) return undefined
  const badRequest = is<BadRequest>(BadRequest)
  return new ServiceError(code as ErrorCode, message, { faults: badRequest ? faultsOf(badRequest) : {} })
}

const typeUrl = ({ $type }: { $type: string }) => `type.googleapis.com/${$type}`

/** A ServiceError as the result of one item in a batch (google.rpc.Status). */
export const statusOf = (error: ServiceError): RpcStatus => {
  const [info, badRequest] = detailsOf(error)
  return {
    code: statusCodeOf(error),
    message: error.detail,
    details: [
      { typeUrl: typeUrl(ErrorInfo), value: Buffer.from(ErrorInfo.encode(info).finish()) },
      { typeUrl: typeUrl(BadRequest), value: Buffer.from(BadRequest.encode(badRequest).finish()) },
    ],
  }
}

/** The ServiceError that `statusOf` made. */
export const errorOfStatus = ({ message, details }: RpcStatus): ServiceError => {
  const types = [ErrorInfo, BadRequest]
  const decoded = details.flatMap(({ typeUrl: url, value }) => {
    const type = types.find((known) => typeUrl(known) === url)
    return type ? [type.decode(value)] : []
  })
  return errorOfDetails(message, decoded) ?? ServiceError.internal()
}
