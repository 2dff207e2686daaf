import { isAbortError } from 'abort-controller-x'
import type { ClientMiddleware, ServerMiddleware } from 'nice-grpc-common'
import { ClientError, ServerError, Status } from 'nice-grpc-common'
import { RichClientError, RichServerError } from 'nice-grpc-error-details'
import { isRefusedValue } from '../database/failure'
import { type ErrorCode, ServiceError } from '../errors/service-error'
import type { Logger } from '../process/logger'
import { detailsOf, errorOfDetails, statusCodeOf } from './status'

type Methods = Record<string, { requestType: { decode(bytes: Uint8Array): object } }>

/** Requests that can not be decoded become the error: grpc-js would answer INTERNAL. */
export const readable = <Definition extends object>(definition: Definition): Definition => {
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

const checkReadable = <Request>(request: Request): Request => {
  if (!(request instanceof Error)) return request
  throw new ServiceError('bad_request', 'The message can not be read.', { cause: request })
}

async function* eachReadable<Request>(requests: AsyncIterable<Request>): AsyncGenerator<Request> {
  for await (const request of requests) yield checkReadable(request)
}

/** Server side: a ServiceError becomes a status with details. Any other error is logged and becomes INTERNAL. */
export const errorsToStatus = (logger: Logger): ServerMiddleware =>
  async function* (call, context) {
    try {
      const request = call.requestStream ? eachReadable(call.request) : checkReadable(call.request)
      return yield* call.next(request as never, context)
    } catch (thrown) {
      const error = isRefusedValue(thrown)
        ? new ServiceError('bad_request', 'A value of the request can not be stored.', { cause: thrown })
        : thrown
      if (isAbortError(error) || error instanceof ServerError) throw error
      const method = call.method.path
      if (!(error instanceof ServiceError)) {
        logger.error({ err: error, method }, 'call failed')
        throw new ServerError(Status.INTERNAL, 'internal error')
      }
      if (error.cause) logger.warn({ err: error, method }, error.detail)
      throw new RichServerError(statusCodeOf(error), error.detail, detailsOf(error))
    }
  }

const UNAVAILABLE = 'The service is unavailable. Try again shortly.'

/** The errors of statuses without details. Any other is internal. */
const ERRORS = new Map<Status, [code: ErrorCode, detail: string]>([
  [Status.UNAVAILABLE, ['unavailable', UNAVAILABLE]],
  [Status.RESOURCE_EXHAUSTED, ['unavailable', UNAVAILABLE]],
  // A copy of the previous release, in an upgrade.
  [Status.UNIMPLEMENTED, ['unavailable', 'This is not available yet: the service is being upgraded.']],
  [Status.DEADLINE_EXCEEDED, ['late', ServiceError.timedOut().detail]],
  [Status.UNAUTHENTICATED, ['internal', 'The other service does not know this SERVICE_TOKEN.']],
])

// grpc-js reports INTERNAL when a connection that drains is reset, as by the kill of a server.
const isReset = ({ details }: ClientError) => details.endsWith('(Call ended without gRPC status)')

export const statusToErrors: ClientMiddleware = async function* (call, options) {
  try {
    return yield* call.next(call.request, options)
  } catch (cause) {
    if (!(cause instanceof ClientError)) throw cause
    const sent = cause instanceof RichClientError ? errorOfDetails(cause.details, cause.extra) : undefined
    if (sent) throw sent
    const known = ERRORS.get(isReset(cause) ? Status.UNAVAILABLE : cause.code)
    throw known ? new ServiceError(...known, { cause }) : ServiceError.internal(cause)
  }
}

/** Whether the other service is of a release that does not have the method. */
export const isUnimplemented = ({ cause }: { cause?: unknown }): boolean =>
  cause instanceof ClientError && cause.code === Status.UNIMPLEMENTED
