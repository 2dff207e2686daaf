import type { Body } from '../../validation/checker'

/** A row of a file. */
export interface Row {
  /** The byte of the file behind it. */
  end: number
  /** Throws a ServiceError when it can't be read. */
  read: () => Body
}

/** Why no more of a file can be read. */
export class UnreadableFile extends Error {}

/** The most bytes of a row, as of a request's body. */
export const MAX_ROW_BYTES = 1024 * 1024
