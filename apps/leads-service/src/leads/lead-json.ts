import { createHash } from 'node:crypto'
import { type Lead, leadDetailsJson, leadItemJson } from '@leadwire/contracts'

/** Raise it whenever the public JSON of a lead changes: rows of an older format are then rendered from their columns. */
const FORMAT = 1

/** What a lead's row keeps of its public JSON. */
export interface LeadJson {
  /** Which format and which address of images the texts are made of. */
  format: number
  /** The list item. */
  item: string
  /** Customer and quotes, without braces. */
  details: string
}

/**
 * The format number of a service with this address of images, as it is written to leads.json_format. Another release, or
 * another address, has another number. `format` stands for another release's in specs.
 */
export const jsonFormatOf = (assetsUrl: string, format = FORMAT): number =>
  createHash('sha256').update(`${format} ${assetsUrl}`).digest().readInt32BE()

export const leadJsonOf = (lead: Lead, format: number): LeadJson => ({
  format,
  item: leadItemJson(lead),
  details: leadDetailsJson(lead, { productStyle: true }),
})

/** The response of every operation that answers with a lead (interface: Retrieve Lead). */
export const leadBody = ({ item, details }: Pick<LeadJson, 'item' | 'details'>): Buffer =>
  Buffer.from(`{"data":${item.slice(0, -1)},${details}}}`)
