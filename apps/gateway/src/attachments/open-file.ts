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

  const close = () => {
    // Both: the one ends a call that is silent, the other a stream that nobody reads on.
    call.abort()
    messages.return?.().catch(() => undefined)
  }
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
      close()
    }
  }
  return { size, bytes: () => Readable.from(bytes(), { objectMode: false }), close }
}
