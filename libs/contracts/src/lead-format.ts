import { createHash } from 'node:crypto'
import { Lead } from './lead-records'
import { fieldNames } from './schema-fields'

/**
 * Raise it when the public JSON of a lead changes by anything but its fields: rows of an older format are then rendered from their
 * columns.
 */
const FORMAT = 1

const FIELDS = JSON.stringify(fieldNames(Lead))

/**
 * The format number of lead JSON that a release makes with this address of images (no slash at its end), as it is written
 * to leads.json_format. Another release, or another address, has another number. `format` stands for another release's in
 * specs.
 */
export const leadJsonFormat = (assetsUrl: string, format = FORMAT): number =>
  createHash('sha256').update(`${format} ${FIELDS} ${assetsUrl}`).digest().readInt32BE()

/** Raise it whenever a lead is found by other words: those of all leads are then made anew. */
export const SEARCH_FORMAT = 2
