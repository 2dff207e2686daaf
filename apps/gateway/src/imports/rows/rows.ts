import type { Body } from '../../validation/checker'

export interface Row {
  /** The byte of the file after the row. */
  end: number
  /** Throws a ServiceError. */
  read: () => Body
}

/** Its message says why no further row of a file can be read. */
export class UnreadableFile extends Error {}

/** As for a request's body. */
export const MAX_ROW_BYTES = 1024 * 1024
