import type { Readable } from 'node:stream'
import { ServiceError } from '@leadwire/service-kit'

export const storeAway = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The file store is unavailable for a moment. Try again shortly.', { cause })

/** What a disk's error is to callers: one that has no room is unavailable until somebody makes room. */
export const diskFailure = (error: unknown): unknown =>
  /^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '') ? storeAway(error) : error

/** A file that is complete and checked, waiting to be kept. */
export interface SpooledFile {
  path: string
  /** Bytes. */
  size: number
  contentType: string
}

/**
 * Where bytes are kept under keys that `newObjectKey` made.
 *
 * Every operation fails with a ServiceError `unavailable` while the store is unavailable; anything else it throws is a fault of
 * ours or of the machine. A signal that aborts ends the operation.
 */
export interface ObjectStore {
  /** The folder of this machine that uploads are spooled in; on the store's own device where it has one. */
  readonly spoolFolder: string
  /** Makes what the store needs: its folders, its bucket. */
  prepare(): Promise<void>
  /** Rejects while the store can't be used. */
  check(): Promise<void>
  /**
   * Keeps a spooled file, durably and at once as a whole: no reader ever sees a part of it. Never replaces an object:
   * a key that is taken is an error. The spooled file stays the caller's, to remove.
   */
  put(key: string, file: SpooledFile, signal?: AbortSignal): Promise<void>
  /**
   * The object's bytes from byte `from` on, and how many these are; the caller reads or destroys them. Undefined when there is
   * no object. `from` lies before its end. The signal also ends a read that waits for more bytes.
   */
  get(
    key: string,
    options?: { from?: number; signal?: AbortSignal },
  ): Promise<{ size: number; bytes: Readable } | undefined>
  /** The keys of objects that were stored before a time, in no order; what else lies in the store may be among them. */
  list(options: { before: Date; signal?: AbortSignal }): AsyncIterable<string>
  /** Deleting what is not there is no failure. */
  delete(key: string): Promise<void>
}
