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
