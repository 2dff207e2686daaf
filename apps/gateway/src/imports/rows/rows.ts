import type { Body } from '@leadwire/requests'
import { isObject } from '../../body/parse-body'
import { IMPORT_FIELDS } from '../../leads/lead-rows'

export interface Row {
  /** The position in the file after the row, in bytes. */
  end: number
  /** Parses the row. Throws a ServiceError if the row is malformed. */
  read: () => Body
  /**
   * Returns the row as it was sent, in JSON. This is an array of cells for CSV, or the text of a line for
   * NDJSON.
   */
  source: () => string
}

/** Thrown if no further row of the file can be read. The message states the reason. */
export class UnreadableFile extends Error {}

/** The maximum size of a row. Equal to the limit of a request's body. */
export const MAX_ROW_BYTES = 1024 * 1024

export const FIELDS = Object.keys(IMPORT_FIELDS)

// The maximum length of a name that is compared. Longer than the name of any field. The rest of a longer name
// is not normalised, because normalising a megabyte of accents takes a minute.
export const LONGEST_NAME = 255

/** Returns only the letters of a name. A column is identified by these letters, in any spelling. */
export const keepLetters = (name: string) =>
  name
    .slice(0, LONGEST_NAME)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '')

/** The columns that a download of refused rows adds before the columns of the imported file. */
export const REPORT_COLUMNS = ['import_row', 'import_errors']

const REPORT_LETTERS = REPORT_COLUMNS.map(keepLetters)

export const isReportColumn = (name: string): boolean => REPORT_LETTERS.includes(keepLetters(name))

const each = (list: unknown, change: (item: Record<string, unknown>) => object): unknown =>
  Array.isArray(list) ? list.map((item) => (isObject(item) ? { ...item, ...change(item) } : item)) : list

const imageId = ({ image_id, image }: Record<string, unknown>) =>
  isObject(image) ? { image_id: image_id ?? image['id'] } : {}

/**
 * Gives the fields of an exported lead the names that POST /manage/leads uses, so that an export can be
 * imported again.
 */
export const exportedFields = ({
  customer,
  ...fields
}: Record<string, unknown>): Record<string, unknown> => ({
  ...(isObject(customer) && customer),
  ...fields,
  ...('quotes' in fields && {
    quotes: each(fields['quotes'], ({ items }) => ({ items: each(items, imageId) })),
  }),
})
