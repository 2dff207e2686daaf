import type { Readable } from 'node:stream'
import type { OpenFile } from '../clients/connect-files'
import type { Call } from './operation'

/** Closes a file without reading it. */
export const closeFile = ({ bytes }: OpenFile): void => {
  // Ignores the error that a stream emits if it is destroyed before its end.
  bytes.on('error', () => undefined).destroy()
}

/**
 * Returns the bytes of an open file as a response body. The response to HEAD has Content-Length but no
 * bytes.
 */
export const sendFile = ({ request, reply }: Call<unknown>, file: OpenFile): Readable | undefined => {
  reply.header('content-length', file.size)
  if (request.method === 'HEAD') {
    closeFile(file)
    return undefined
  }
  return file.bytes
}
