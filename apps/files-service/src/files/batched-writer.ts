import type { FileHandle } from 'node:fs/promises'

// Each write is a trip to another thread: 64 KiB at a time they took a third of an upload's processor time.
const BATCH_BYTES = 256 * 1024
const MOST_SPARE = 64

const spare: Buffer[] = []

/**
 * Appends chunks to a file, gathered into few writes. They are copied into a buffer that is used again and again: kept
 * for as long as they wait, they would outlive the collector's young generation and cost a full collection later.
 */
export const createBatchedWriter = (file: FileHandle) => {
  const batch = spare.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES)
  let filled = 0
  const flush = async (): Promise<void> => {
    for (let at = 0; at < filled; ) {
      const { bytesWritten } = await file.write(batch, at, filled - at)
      at += bytesWritten
    }
    filled = 0
  }
  return {
    /** Resolves when the writer takes more. */
    write: async (chunk: Buffer): Promise<void> => {
      for (let at = 0; at < chunk.length; ) {
        const copied = chunk.copy(batch, filled, at)
        at += copied
        filled += copied
        if (filled === batch.length) await flush()
      }
    },
    /** Resolves when all is written. */
    flush,
    /** Lets go of the buffer. No write may be under way. */
    release: () => {
      if (spare.length < MOST_SPARE) spare.push(batch)
    },
  }
}
