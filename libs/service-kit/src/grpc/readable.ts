import { ServiceError } from '../runtime/service-error'

const UNREADABLE = Symbol('unreadable')

/** A method of a generated service definition. */
interface Method {
  requestType: { decode(bytes: Uint8Array): object }
}

// grpc-js takes what is thrown while a message is decoded for a fault of its own, and answers INTERNAL.
const decodeOrTell =
  (decode: (bytes: Uint8Array) => object) =>
  (bytes: Uint8Array): object => {
    try {
      return decode(bytes)
    } catch (error) {
      return { [UNREADABLE]: error }
    }
  }

/** The same service definition, whose requests can all be decoded: `mustBeReadable` tells those that are none. */
export const readable = <Definition extends object>(definition: Definition): Definition => {
  const { methods } = definition as unknown as { methods: Record<string, Method> }
  const all = Object.entries(methods).map(([name, method]) => {
    const requestType = { ...method.requestType, decode: decodeOrTell(method.requestType.decode) }
    return [name, { ...method, requestType }]
  })
  return { ...definition, methods: Object.fromEntries(all) }
}

/** The request, or the requests of a stream; throws `bad_request` for bytes that are no message, or numbers beyond all doubles. */
export const mustBeReadable = <Request>(
  request: Request | AsyncIterable<Request>,
): Request | AsyncIterable<Request> =>
  typeof request === 'object' && request !== null && Symbol.asyncIterator in request
    ? eachReadable(request)
    : oneReadable(request as Request)

const oneReadable = <Request>(request: Request): Request => {
  const cause = (request as { [UNREADABLE]?: unknown })[UNREADABLE]
  if (cause !== undefined) throw new ServiceError('bad_request', 'The message can not be read.', { cause })
  return request
}

async function* eachReadable<Request>(
  requests: AsyncIterable<Request>,
): AsyncGenerator<Request, void, undefined> {
  for await (const request of requests) yield oneReadable(request)
}
