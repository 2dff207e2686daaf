import { isObject } from '../../body/body'
import { VisitorLead } from '../../leads/visitor-lead'
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

export const FIELDS = Object.keys(VisitorLead.properties)

const each = (list: unknown, change: (item: Record<string, unknown>) => object): unknown =>
  Array.isArray(list) ? list.map((item) => (isObject(item) ? { ...item, ...change(item) } : item)) : list

const imageId = ({ image_id, image }: Record<string, unknown>) =>
  isObject(image) ? { image_id: image_id ?? image['id'] } : {}

/** The fields of an exported lead by their names in POST /manage/leads: an export can be imported again. */
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
