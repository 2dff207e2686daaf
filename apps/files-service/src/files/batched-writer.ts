import type { FileHandle } from 'node:fs/promises'

// Each write is a trip to another thread: 64 KiB at a time they took a third of an upload's processor time.
const BATCH_BYTES = 256 * 1024
const MOST_SPARE = 64

// The disk starts on a file while the rest of it is on its way: left to the end, every byte would be waited for then.
const WRITE_BACK_BYTES = 1024 * 1024

const spare: Buffer[] = []

/**
 * Appends chunks to a file, gathered into few writes. They are copied into a buffer that is used again and again: kept
 * for as long as they wait, they would outlive the collector's young generation and cost a full collection later.
 */
export const createBatchedWriter = (file: FileHandle) => {
  const batch = spare.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES)
  let filled = 0
  let dirty = 0
  let writeBack = Promise.resolve()
  // Awaited before the next, so that a disk that fails or can't keep up is heard of: no later fsync would tell.
  const startWriteBack = async (): Promise<void> => {
    await writeBack
    dirty = 0
    writeBack = file.datasync()
    writeBack.catch(() => undefined)
  }
  const flush = async (): Promise<void> => {
    for (let at = 0; at < filled; ) {
      const { bytesWritten } = await file.write(batch, at, filled - at)
      at += bytesWritten
    }
    dirty += filled
    filled = 0
    if (dirty >= WRITE_BACK_BYTES) await startWriteBack()
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
    /** Resolves when all is written; what the disk has of it by then is not said. */
    finish: async (): Promise<void> => {
      await flush()
      await writeBack
    },
    /** Lets go of the buffer and of the file, which may be closed then. No write may be under way. */
    release: async (): Promise<void> => {
      await writeBack.catch(() => undefined)
      if (spare.length < MOST_SPARE) spare.push(batch)
    },
  }
}
