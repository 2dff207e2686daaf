import { Metadata, type ServerInterceptor } from '@grpc/grpc-js'

/**
 * Answers a stream of messages with its header before the first of them is read: its client then knows that the call
 * was taken, and that what it sends from now on need not be kept for another try.
 */
export const acceptAtOnce: ServerInterceptor = (method, call) => {
  if (method.requestStream) call.sendMetadata(new Metadata())
  return call as ReturnType<ServerInterceptor>
}
