import { type Channel, Metadata, status as Status } from '@grpc/grpc-js'
import { Failure } from '@leadwire/contracts'
import { ClientError } from 'nice-grpc-common'
import { serviceErrorOf } from './failure'
import { FAILURE_KEY, fromStatus } from './grpc-errors'
import { untilSent } from './retry-unsent'

/** A method of a generated service definition that takes one message and answers with one. */
export interface UnaryMethod<Request, Response> {
  name: string
  requestType: { encode(message: Request): { finish(): Uint8Array } }
  responseType: { decode(bytes: Uint8Array): Response }
}

/**
 * A unary call made on the channel itself. It is balanced, bounded, tried again and fails as those of `client` are and
 * do, without what they pay for: copies of the request with its defaults filled in (it must be complete), generators and
 * signals for each of four layers, a stack trace taken in advance. For calls that many requests wait for.
 */
export const unaryCall = <Request, Response>(
  channel: Channel,
  {
    service,
    method,
    deadlineMs,
  }: { service: string; method: UnaryMethod<Request, Response>; deadlineMs: number },
): ((request: Request) => Promise<Response>) => {
  const path = `/${service}/${method.name}`
  return async (request) => {
    const { buffer, byteOffset, byteLength } = method.requestType.encode(request).finish()
    const message = Buffer.from(buffer, byteOffset, byteLength)
    const deadline = Date.now() + deadlineMs
    try {
      return method.responseType.decode(await untilSent(() => callOnce(channel, path, message, deadline)))
    } catch (error) {
      throw error instanceof ClientError ? fromStatus(error) : error
    }
  }
}

const callOnce = (channel: Channel, path: string, message: Buffer, deadline: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const call = channel.createCall(path, deadline, null, null, null)
    let answer: Buffer | undefined
    call.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (received: Buffer) => {
        answer = received
      },
      onReceiveStatus: ({ code, details, metadata }) => {
        const [failure] = metadata.get(FAILURE_KEY)
        if (code === Status.OK && answer) resolve(answer)
        else if (failure instanceof Buffer) reject(serviceErrorOf(Failure.decode(failure)))
        else reject(new ClientError(path, code === Status.OK ? Status.INTERNAL : code, details))
      },
    })
    call.startRead()
    call.sendMessageWithContext({}, message)
    call.halfClose()
  })
