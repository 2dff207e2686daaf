import { createHash, randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { UploadRequest } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { createTextCheck, type TextFindings } from '../formats/text-check'
import { createBatchedWriter } from './batched-writer'
import { sizeText } from './size-text'
import { SPOOL_PREFIX } from './sweep-spool'

export interface Spooled {
  path: string
  /** Bytes. */
  size: number
  /** Empty when nobody wants it. */
  sha256: Buffer
  text: TextFindings
  /** What the client's UploadFinish said. */
  keep: boolean
}

interface SpoolOptions {
  maxBytes: number
  wantsSha256: boolean
  /** Hears of every chunk's size as it comes. */
  onBytes: (count: number) => void
  signal: AbortSignal
}

/**
 * Writes the chunks of an upload to a file of their own, a few at a time: the client is only asked for more once they are
 * written. Gives the file to `work`, and removes it whatever happens.
 *
 * Fails with too_large at the first byte over `maxBytes`, with bad_request when the messages end without a finish.
 */
export const withSpooledUpload = async <T>(
  messages: AsyncIterator<UploadRequest>,
  options: SpoolOptions & { folder: string },
  work: (spooled: Spooled) => Promise<T>,
): Promise<T> => {
  const path = join(options.folder, `${SPOOL_PREFIX}${randomUUID()}`)
  try {
    return await work({ path, ...(await spool(messages, { ...options, path })) })
  } finally {
    await rm(path, { force: true })
  }
}

const spool = async (
  messages: AsyncIterator<UploadRequest>,
  { path, maxBytes, wantsSha256, onBytes, signal }: SpoolOptions & { path: string },
): Promise<Omit<Spooled, 'path'>> => {
  const file = await open(path, 'wx', 0o640).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new ServiceError('unavailable', 'The file store is away for a moment. Try again shortly.', {
      cause: error,
    })
  })
  const writer = createBatchedWriter(file)
  try {
    const hash = wantsSha256 ? createHash('sha256') : undefined
    const text = createTextCheck()
    let size = 0
    for (;;) {
      const part = (await messages.next()).value?.part
      signal.throwIfAborted()
      if (part?.$case === 'finish') {
        await writer.finish()
        const sha256 = hash?.digest() ?? Buffer.alloc(0)
        return { size, sha256, text: text.findings(), keep: part.value.keep }
      }
      if (part?.$case !== 'chunk') {
        throw new ServiceError('bad_request', 'An upload is one start, chunks, and one finish.')
      }
      size += part.value.length
      onBytes(part.value.length)
      if (size > maxBytes) {
        throw new ServiceError('too_large', `The file must not be larger than ${sizeText(maxBytes)}.`)
      }
      hash?.update(part.value)
      text.add(part.value)
      await writer.write(part.value)
    }
  } finally {
    await writer.release()
    await file.close()
  }
}
