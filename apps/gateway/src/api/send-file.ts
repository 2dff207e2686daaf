import type { Readable } from 'node:stream'
import type { OpenFile } from '../clients/connect-files'
import type { Call } from './operation'

/** Closes a file whose bytes are not wanted. */
export const closeFile = ({ bytes }: OpenFile): void => {
  // A stream that is destroyed before its end emits an error.
  bytes.on('error', () => undefined).destroy()
}

/** Ends the connection of a client that takes no bytes of its response for a while. */
export const limitIdleClient = ({ request, reply, dependencies }: Call<unknown>): void =>
  void reply.raw.setTimeout(dependencies.fileIdleMs, () => request.raw.destroy())

/** The bytes of the response that an open file is; on HEAD none, but their number. */
export const sendFile = (call: Call<unknown>, file: OpenFile): Readable | undefined => {
  call.reply.header('content-length', file.size)
  if (call.request.method === 'HEAD') {
    closeFile(file)
    return undefined
  }
  limitIdleClient(call)
  return file.bytes
}
