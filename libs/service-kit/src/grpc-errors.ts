import type { IncomingHttpHeaders } from 'node:http2'
import { Failure } from '@leadwire/contracts'
import { isAbortError } from 'abort-controller-x'
import {
  type CallContext,
  type CallOptions,
  ClientError,
  type ClientMiddlewareCall,
  Metadata,
  ServerError,
  type ServerMiddlewareCall,
  Status,
} from 'nice-grpc-common'
import { isRefusedValue } from './database-failure'
import { failureOf, serviceErrorOf } from './failure'
import type { Logger } from './logger'
import { mustBeReadable } from './readable'
import { type ErrorCode, ServiceError } from './service-error'

/** The trailer in which a failed call has its failure. */
export const FAILURE_KEY = 'leadwire-failure-bin'

const STATUS_OF: Record<ErrorCode, Status> = {
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

const refusedValue = (cause: unknown) =>
  new ServiceError('bad_request', 'A value of the request can not be stored.', { cause })

/** Server side: a ServiceError becomes a status with the failure in the trailer; anything else is logged and INTERNAL. */
export const failuresToStatus = (logger: Logger) =>
  async function* <Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
    try {
      return yield* call.next(mustBeReadable(call.request) as never, context)
    } catch (thrown) {
      const error = isRefusedValue(thrown) ? refusedValue(thrown) : thrown
      if (isAbortError(error) || error instanceof ServerError) throw error
      if (!(error instanceof ServiceError)) {
        logger.error({ err: error, method: call.method.path }, 'call failed')
        throw new ServerError(Status.INTERNAL, 'internal error')
      }
      if (error.cause) logger.warn({ err: error, cause: error.cause, method: call.method.path }, error.detail)
      context.trailer.set(FAILURE_KEY, Failure.encode(failureOf(error)).finish())
      throw new ServerError(STATUS_OF[error.code], error.detail)
    }
  }

/** A bare status becomes the nearest error. */
export const fromStatus = (error: ClientError): ServiceError => {
  switch (error.code) {
    case Status.UNAVAILABLE:
    case Status.RESOURCE_EXHAUSTED:
      return new ServiceError('unavailable', 'The service is away for a moment. Try again shortly.', {
        cause: error,
      })
    case Status.DEADLINE_EXCEEDED:
      return new ServiceError('late', 'The service did not answer in time.', { cause: error })
    default:
      return new ServiceError('internal', 'Something went wrong on our side.', { cause: error })
  }
}

/** The same, of the trailers of a call that went over plain HTTP/2; of none when the connection broke. */
export const errorOfTrailers = (path: string, trailers: IncomingHttpHeaders): ServiceError => {
  const failure = trailers[FAILURE_KEY]
  if (typeof failure === 'string') return serviceErrorOf(Failure.decode(Buffer.from(failure, 'base64')))
  const status = Number(trailers['grpc-status'] ?? Status.UNAVAILABLE)
  return fromStatus(new ClientError(path, status, String(trailers['grpc-message'] ?? 'the connection broke')))
}

/** Client side: the failure in the trailer becomes the ServiceError it was; a bare status becomes the nearest one. */
export async function* statusToFailures<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  let failure: Uint8Array | undefined
  try {
    return yield* call.next(call.request, {
      ...options,
      onTrailer: (trailer) => {
        failure = Metadata(trailer).get(FAILURE_KEY)
        options.onTrailer?.(trailer)
      },
    })
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    throw failure ? serviceErrorOf(Failure.decode(failure)) : fromStatus(error)
  }
}
