import { isAbortError } from 'abort-controller-x'
import {
  type CallContext,
  type CallOptions,
  ClientError,
  type ClientMiddlewareCall,
  ServerError,
  type ServerMiddlewareCall,
  Status,
} from 'nice-grpc-common'
import { RichClientError, RichServerError } from 'nice-grpc-error-details'
import { isRefusedValue } from '../database/failure'
import { ServiceError } from '../errors/service-error'
import type { Logger } from '../process/logger'
import { detailsOf, errorOfDetails, statusCodeOf } from './status'

const refusedValue = (cause: unknown) =>
  new ServiceError('bad_request', 'A value of the request can not be stored.', { cause })

/** Stands for a request that could not be decoded. */
class Unreadable {
  constructor(readonly cause: unknown) {}
}

type Methods = Record<string, { requestType: { decode(bytes: Uint8Array): object } }>

/** The same service definition, whose requests all decode: grpc-js would answer INTERNAL for bytes that are no message. */
export const readable = <Definition extends object>(definition: Definition): Definition => {
  const { methods } = definition as unknown as { methods: Methods }
  const all = Object.entries(methods).map(([name, method]) => {
    const decode = (bytes: Uint8Array) => {
      try {
        return method.requestType.decode(bytes)
      } catch (error) {
        return new Unreadable(error)
      }
    }
    return [name, { ...method, requestType: { ...method.requestType, decode } }]
  })
  return { ...definition, methods: Object.fromEntries(all) }
}

const checkReadable = <Request>(request: Request): Request => {
  if (!(request instanceof Unreadable)) return request
  throw new ServiceError('bad_request', 'The message can not be read.', { cause: request.cause })
}

async function* eachReadable<Request>(requests: AsyncIterable<Request>): AsyncGenerator<Request> {
  for await (const request of requests) yield checkReadable(request)
}

/** Server side: a ServiceError becomes a status with details. Any other error is logged and becomes INTERNAL. */
export const errorsToStatus = (logger: Logger) =>
  async function* <Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
    try {
      const request = call.requestStream ? eachReadable(call.request) : checkReadable(call.request)
      return yield* call.next(request as never, context)
    } catch (thrown) {
      const error = isRefusedValue(thrown) ? refusedValue(thrown) : thrown
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

/** The error of a status without details. */
const errorOfCode = (cause: ClientError): ServiceError => {
  switch (cause.code) {
    case Status.UNAVAILABLE:
    case Status.RESOURCE_EXHAUSTED:
      return new ServiceError('unavailable', 'The service is unavailable. Try again shortly.', { cause })
    // A copy of the previous release, in an upgrade.
    case Status.UNIMPLEMENTED:
      return new ServiceError('unavailable', 'This is not available yet: the service is being upgraded.', {
        cause,
      })
    case Status.DEADLINE_EXCEEDED:
      return ServiceError.timedOut(cause)
    case Status.UNAUTHENTICATED:
      return new ServiceError('internal', 'The other service does not know this SERVICE_TOKEN.', { cause })
    default:
      return ServiceError.internal(cause)
  }
}

/** Client side: a failed call throws the ServiceError of its status. */
export async function* statusToErrors<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  try {
    return yield* call.next(call.request, options)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const sent = error instanceof RichClientError ? errorOfDetails(error.details, error.extra) : undefined
    throw sent ?? errorOfCode(error)
  }
}
