import { ServiceError } from '@leadwire/service-kit'

/**
 * The disk space of spooled uploads.
 *
 * The used space has two parts. An upload of this process takes space for each chunk before the chunk is
 * written, and frees all its space when its file is removed. The other files in the spool belong to other
 * copies of the service or were left by a killed copy; each sweep measures these files.
 *
 * Invariant: an upload never takes space beyond `maxBytes` (spool-space.spec.ts). Several copies together may
 * exceed the limit until the next sweep.
 */
export interface SpoolSpace {
  /** Registers the file of an upload. */
  open(path: string): SpooledFile
  /** Returns whether an upload of this process writes the file. */
  isOpen(path: string): boolean
  /** Sets the size of all files in the spool that are not open. */
  setOtherBytes(bytes: number): void
}

interface SpooledFile {
  /** Takes space for a chunk. Throws unavailable if there is not enough. */
  take(bytes: number): void
  /** Frees the space of the file. Must be called after the file was removed. */
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
