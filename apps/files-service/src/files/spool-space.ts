import { ServiceError } from '@leadwire/service-kit'

/**
 * Counts the disk space that spooled uploads use. The used space is the sum of two numbers:
 *
 * - The bytes of this process. An upload takes space for each chunk before the chunk is written, and frees
 *   all its space when its file is removed.
 * - The size of all other files in the spool. These files belong to other copies of the service, or a killed
 *   copy has left them behind. Each sweep measures these files (`sweepSpool`).
 *
 * Invariant: an upload never takes space beyond `maxBytes` (spool-space.spec.ts). Several copies together may
 * exceed the limit until the next sweep.
 */
export interface SpoolSpace {
  /** Registers the file of an upload. */
  open(path: string): SpooledFile
  /** Returns whether the file belongs to an upload of this process that has not ended. */
  isOpen(path: string): boolean
  /** Sets the total size, in bytes, of the spooled files that are not open. */
  setOtherBytes(bytes: number): void
}

interface SpooledFile {
  /** Takes space for a chunk. Throws `unavailable` if too little space is free. */
  take(bytes: number): void
  /** Frees the space of the file. Call this method only after the file was removed. */
  close(): void
}

export const createSpoolSpace = (maxBytes: number): SpoolSpace => {
  const open = new Set<string>()
  let openBytes = 0
  let otherBytes = 0
  return {
    open: (path) => {
      let size = 0
      open.add(path)
      return {
        take: (bytes) => {
          if (openBytes + otherBytes + bytes > maxBytes)
            throw new ServiceError('unavailable', 'Too many uploads are in progress. Try again shortly.')
          openBytes += bytes
          size += bytes
        },
        close: () => {
          openBytes -= size
          open.delete(path)
        },
      }
    },
    isOpen: (path) => open.has(path),
    setOtherBytes: (bytes) => {
      otherBytes = bytes
    },
  }
}
