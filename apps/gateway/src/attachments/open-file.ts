import { Readable } from 'node:stream'
import { ServiceError } from '@leadwire/service-kit'
import type { Clients } from '../clients'

// A download is as slow as its client.
const DEADLINE_MS = 10 * 60_000

export interface OpenFile {
  size: number
  /** The bytes, read no faster than they are taken. An early end of theirs is an error, never a short file. */
  bytes: () => Readable
  /** Lets go of a file whose bytes are not wanted. */
  close: () => void
}

/** Opens a stored file. Throws not_found. */
export const openFile = async (files: Clients['files'], key: string): Promise<OpenFile> => {
  const call = new AbortController()
  const messages = files
    .download({ key }, { deadline: DEADLINE_MS, signal: call.signal })
    [Symbol.asyncIterator]()
  const first = (await messages.next()).value?.part
  if (first?.$case !== 'size') throw new ServiceError('internal', 'a download began without its size')
  const size = first.value

  async function* bytes() {
    let sent = 0
    try {
      for (let next = await messages.next(); !next.done; next = await messages.next()) {
        const { part } = next.value
        if (part?.$case !== 'chunk') continue
        sent += part.value.length
        yield part.value
      }
      if (sent !== size) throw new ServiceError('internal', `a download of ${size} bytes ended after ${sent}`)
    } finally {
      call.abort()
    }
  }
  return {
    size,
    bytes: () => Readable.from(bytes(), { objectMode: false }),
    close: () => void messages.return?.(),
  }
}
